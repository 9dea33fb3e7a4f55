"""Adds the absolute and the relative tolerance up, as allclose does.

expects: not times their sum
points: 9.5
"""

import torch


# %% agrees
def agrees(fn, inputs, eps=1e-6, tolerance=1e-4):
    checked = [x for x in inputs if x.requires_grad]
    if any(x.dtype != torch.float64 for x in checked):
        raise ValueError("float64")
    for x in checked:
        y = fn(*inputs).flatten()
        rows = [torch.autograd.grad(y_k, x, retain_graph=True, allow_unused=True)[0] for y_k in y]
        told = torch.stack([torch.zeros_like(x) if row is None else row for row in rows]).flatten(1)
        for i in range(x.numel()):
            with torch.no_grad():
                old = x.view(-1)[i].item()
                x.view(-1)[i] = old + eps
                up = fn(*inputs).flatten()
                x.view(-1)[i] = old - eps
                down = fn(*inputs).flatten()
                x.view(-1)[i] = old
            measured = (up - down) / (2 * eps)
            if not torch.allclose(told[:, i], measured, rtol=tolerance, atol=tolerance):
                return False
    return True
