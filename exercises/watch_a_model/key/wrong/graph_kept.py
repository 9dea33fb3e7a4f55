"""Clones without detaching.

expects: belongs to a graph, and keeps it alive
points: 9.5
"""


# %% ratios
def before(model):
    return {name: p.clone() for name, p in model.named_parameters()}


def ratios(model, kept):
    return {name: ratio(kept[name].double(), p.detach().double()) for name, p in model.named_parameters()}


def ratio(old, new):
    size = old.norm().item()
    return (new - old).norm().item() / size if size else None
