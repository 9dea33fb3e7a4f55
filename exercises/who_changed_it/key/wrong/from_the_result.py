"""Lazy: looks at the gradient of x alone, and blames the last module.

expects: names another module than the one that makes an infinite gradient
points: 6.5
"""

import torch


# %% spoiler
def spoiler(model, x):
    start = x.detach().clone().requires_grad_()
    (g,) = torch.autograd.grad(model(start).sum(), start)
    return None if g.isfinite().all() else list(dict(model.named_modules()))[-1]
