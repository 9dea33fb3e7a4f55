"""Subtracts in place.

expects: `ratios` changes the parameters
points: 9.5
"""


# %% ratios
def before(model):
    return {name: p.detach().clone() for name, p in model.named_parameters()}


def ratios(model, kept):
    return {name: ratio(kept[name].double(), p.detach()) for name, p in model.named_parameters()}


def ratio(old, new):
    size = old.norm().item()
    return new.sub_(old).double().norm().item() / size if size else None
