"""Takes the step back by subtracting it, which rounds.

expects: put back the exact value
points: 9.5
"""

import torch


# %% agrees
def agrees(fn, inputs, eps=1e-6, tolerance=1e-4):
    checked = [x for x in inputs if x.requires_grad]
    if any(x.dtype != torch.float64 for x in checked):
        raise ValueError("a gradient check needs float64: finite differences drown in the rounding of float32")
    for x in checked:
        y = fn(*inputs).flatten()
        rows = [torch.autograd.grad(y_k, x, retain_graph=True, allow_unused=True)[0] for y_k in y]
        told = torch.stack([torch.zeros_like(x) if row is None else row for row in rows]).flatten(1)
        for i in range(x.numel()):
            measured = (moved(fn, inputs, x, i, eps) - moved(fn, inputs, x, i, -eps)) / (2 * eps)
            if not torch.all((told[:, i] - measured).abs() <= tolerance * measured.abs().clamp(min=1)):
                return False
    return True


def moved(fn, inputs, x, i, step):
    with torch.no_grad():
        x.view(-1)[i] += step
        y = fn(*inputs).flatten()
        x.view(-1)[i] -= step
    return y
