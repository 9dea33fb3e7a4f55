"""Compares numbers alone, which a counted write need not change.

expects: whose write changes no number
points: 8.5
"""

import torch


# %% writers
def writers(model, x):
    found, handles = {}, []

    def watch(name, module):
        before = []

        def look(module, inputs):
            before.append((inputs[0]._version, inputs[0].detach().clone()))

        def compare(module, inputs, output):
            _, numbers = before.pop()
            if not torch.allclose(inputs[0], numbers, rtol=0, atol=0, equal_nan=True):
                found[name] = "counted"

        handles.append(module.register_forward_pre_hook(look))
        handles.append(module.register_forward_hook(compare))

    try:
        for name, module in model.named_modules():
            if not list(module.children()):
                watch(name, module)
        with torch.no_grad():
            model(x.clone())
    finally:
        for handle in handles:
            handle.remove()
    return found
