"""Divides by the norm of 0, and gives None for whatever is then no number.

expects: gives None where the step made a parameter nan
points: 9.5
"""

import math


# %% ratios
def before(model):
    return {name: p.detach().clone().double() for name, p in model.named_parameters()}


def ratios(model, kept):
    found = {}
    for name, p in model.named_parameters():
        r = ((p.detach().double() - kept[name]).norm() / kept[name].norm()).item()
        found[name] = r if math.isfinite(r) else None
    return found
