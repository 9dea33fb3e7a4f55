"""Leaves the standard deviation of a single element to torch, which says nan.

expects: of a single element is nan
points: 9.5
"""


# %% record
def record(model):
    rows, squares = {}, 0.0
    for name, p in model.named_parameters():
        rows[name] = None if p.grad is None else numbers(p.grad.double())
        squares += rows[name]["norm"] ** 2 if rows[name] else 0.0
    return rows, squares**0.5


def numbers(g):
    return {
        "norm": g.norm().item(),
        "mean": g.mean().item(),
        "std": g.std().item(),
        "largest": g.abs().max().item(),
        "nonfinite": int((~g.isfinite()).sum()),
    }
