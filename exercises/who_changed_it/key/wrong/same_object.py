"""Lazy: takes each module that returns its input for one that writes.

expects: accuses a module that returns the tensor it was given
points: 8
"""

import torch


# %% writers
def writers(model, x):
    found, handles = {}, []

    def watch(name, module):
        def compare(module, inputs, output):
            if output is inputs[0]:
                found[name] = "counted"

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
