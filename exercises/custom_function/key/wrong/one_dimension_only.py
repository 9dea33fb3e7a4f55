"""Goes through inputs and outputs as if they had one axis.

expects: where the inputs and y have two axes, `agrees` raised
points: 9
"""

import torch


# %% agrees
def agrees(fn, inputs, eps=1e-6, tolerance=1e-4):
    checked = [x for x in inputs if x.requires_grad]
    if any(x.dtype != torch.float64 for x in checked):
        raise ValueError("float64")
    for x in checked:
        for k in range(len(fn(*inputs))):
            row = torch.autograd.grad(fn(*inputs)[k], x, allow_unused=True)[0]
            row = torch.zeros_like(x) if row is None else row
            for i in range(len(x)):
                with torch.no_grad():
                    old = x[i].item()
                    x[i] = old + eps
                    up = fn(*inputs)[k].item()
                    x[i] = old - eps
                    down = fn(*inputs)[k].item()
                    x[i] = old
                measured = (up - down) / (2 * eps)
                if not abs(row[i].item() - measured) <= tolerance * max(1.0, abs(measured)):
                    return False
    return True
