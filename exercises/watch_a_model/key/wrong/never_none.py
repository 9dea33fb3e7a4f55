"""Asks every parameter for its gradient.

expects: the numbers of a gradient that is None
points: 9.5
"""


# %% record
def record(model):
    rows, squares = {}, 0.0
    for name, p in model.named_parameters():
        rows[name] = numbers(p.grad.double())
        squares += rows[name]["norm"] ** 2 if rows[name] else 0.0
    return rows, squares**0.5


def numbers(g):
    return {
        "norm": g.norm().item(),
        "mean": g.mean().item(),
        "std": g.std().item() if g.numel() > 1 else 0.0,
        "largest": g.abs().max().item(),
        "nonfinite": int((~g.isfinite()).sum()),
    }
