"""Keeps norms, and compares them.

expects: compares two norms: a parameter may move far
points: 9
"""


# %% ratios
def before(model):
    return {name: p.detach().double().norm().item() for name, p in model.named_parameters()}


def ratios(model, kept):
    return {name: ratio(kept[name], p.detach().double().norm().item()) for name, p in model.named_parameters()}


def ratio(old, new):
    return abs(new - old) / old if old else None
