"""Puts the name together from that of the module and its own, with a dot where there is no module.

expects: puts a dot in front of a name
points: 9.5
"""


# %% record
def record(model):
    rows, squares = {}, 0.0
    found = [(f"{m}.{n}", p) for m, module in model.named_modules() for n, p in module.named_parameters(recurse=False)]
    found = list({p: (name, p) for name, p in found[::-1]}.values())[::-1]
    for name, p in found:
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
