"""Puts a function of its own in the place of each forward method.

expects: the forward method of a module has been replaced
points: 9.5
"""

import torch


# %% writers
def writers(model, x):
    found = {}

    def watch(name, module):
        forward = module.forward

        def watched(h):
            version, numbers = h._version, h.detach().clone()
            out = forward(h)
            if h._version != version:
                found[name] = "counted"
            elif not torch.allclose(h, numbers, rtol=0, atol=0, equal_nan=True):
                found[name] = "silent"
            return out

        module.forward = watched

    for name, module in model.named_modules():
        if not list(module.children()):
            watch(name, module)
    with torch.no_grad():
        model(x.clone())
    return found
