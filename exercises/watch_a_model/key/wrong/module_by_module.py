"""Goes through the modules, and meets a shared parameter twice.

expects: two rows for a parameter that two modules share
points: 9.5
"""


# %% record
def record(model):
    rows, squares = {}, 0.0
    for name, p in model.named_parameters(remove_duplicate=False):
        rows[name] = None if p.grad is None else numbers(p.grad.double())
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
