"""Keeps the state dict, which is made of views.

expects: all ratios are 0
points: 8.5
"""


# %% ratios
def before(model):
    return dict(model.state_dict())


def ratios(model, kept):
    return {name: ratio(kept[name].double(), p.detach().double()) for name, p in model.named_parameters()}


def ratio(old, new):
    size = old.norm().item()
    return (new - old).norm().item() / size if size else None
