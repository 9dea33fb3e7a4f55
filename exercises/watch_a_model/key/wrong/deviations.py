"""Takes standard deviations for norms.

expects: takes standard deviations for norms
points: 9
"""


# %% ratios
def before(model):
    return {name: p.detach().clone() for name, p in model.named_parameters()}


def ratios(model, kept):
    return {name: ratio(kept[name].double(), p.detach().double()) for name, p in model.named_parameters()}


def ratio(old, new):
    return ((new - old).std() / old.std()).item() if old.any() else None
