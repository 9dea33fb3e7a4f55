"""Leaves parameters without a gradient out.

expects: leaves out a parameter that is frozen
points: 9.5
"""


# %% record
def record(model):
    rows = {name: numbers(p.grad.double()) for name, p in model.named_parameters() if p.grad is not None}
    return rows, sum(row["norm"] ** 2 for row in rows.values()) ** 0.5


def numbers(g):
    std = g.std().item() if g.numel() > 1 else 0.0
    row = {"norm": g.norm().item(), "mean": g.mean().item(), "std": std, "largest": g.abs().max().item()}
    return row | {"nonfinite": int((~g.isfinite()).sum())}
