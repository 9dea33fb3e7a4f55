"""Says that every gradient is right.

expects: calls a gradient with the wrong sign right
points: 7
"""

import torch


# %% agrees
def agrees(fn, inputs, eps=1e-6, tolerance=1e-4):
    if any(x.dtype != torch.float64 for x in inputs if x.requires_grad):
        raise ValueError("a gradient check needs float64")
    return True
