"""Asks torch's own gradcheck.

expects: measure the differences yourself
points: 8.5
"""

import torch


# %% agrees
def agrees(fn, inputs, eps=1e-6, tolerance=1e-4):
    if any(x.dtype != torch.float64 for x in inputs if x.requires_grad):
        raise ValueError("a gradient check needs float64")
    return torch.autograd.gradcheck(fn, inputs, eps=eps, atol=tolerance, rtol=tolerance, raise_exception=False)
