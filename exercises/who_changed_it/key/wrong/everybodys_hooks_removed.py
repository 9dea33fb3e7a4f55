"""Clears all hooks of each module, also those of others.

expects: after `writers`, the hooks are not
points: 9.5
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
            version, numbers = before.pop()
            if inputs[0]._version != version:
                found[name] = "counted"
            elif not torch.allclose(inputs[0], numbers, rtol=0, atol=0, equal_nan=True):
                found.setdefault(name, "silent")

        handles.append(module.register_forward_pre_hook(look))
        handles.append(module.register_forward_hook(compare))

    try:
        for name, module in model.named_modules():
            if not list(module.children()):
                watch(name, module)
        with torch.no_grad():
            model(x.clone())
    finally:
        for module in model.modules():
            module._forward_hooks.clear()
            module._forward_pre_hooks.clear()
    return found
