"""Asks every input for float64, whether it wants a gradient or not.

expects: refuses a float32 input that wants no gradient
points: 9.5
"""

import torch


# %% agrees
def agrees(fn, inputs, eps=1e-6, tolerance=1e-4):
    if any(x.dtype != torch.float64 for x in inputs):
        raise ValueError("float64")
    checked = [x for x in inputs if x.requires_grad]
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
            if not torch.all((told[:, i] - measured).abs() <= tolerance * measured.abs().clamp(min=1)):
                return False
    return True
