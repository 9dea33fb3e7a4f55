"""Relies on .double() for the copy, which copies only what is not double already.

expects: copy only where they convert
points: 9
"""


# %% ratios
def before(model):
    return {name: p.detach().double() for name, p in model.named_parameters()}


def ratios(model, kept):
    return {name: ratio(kept[name].double(), p.detach().double()) for name, p in model.named_parameters()}


def ratio(old, new):
    size = old.norm().item()
    return (new - old).norm().item() / size if size else None
