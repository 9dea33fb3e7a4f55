"""Takes a gradient of zeros for none.

expects: None for a gradient of zeros
points: 9.5
"""


# %% record
def record(model):
    rows = {}
    for name, p in model.named_parameters():
        rows[name] = numbers(p.grad.double()) if p.grad is not None and p.grad.any() else None
    return rows, sum(row["norm"] ** 2 for row in rows.values() if row) ** 0.5


def numbers(g):
    std = g.std().item() if g.numel() > 1 else 0.0
    row = {"norm": g.norm().item(), "mean": g.mean().item(), "std": std, "largest": g.abs().max().item()}
    return row | {"nonfinite": int((~g.isfinite()).sum())}
