"""Compares when the whole model has run, and so blames modules that ran before the write.

expects: look right after each module, not at the end
points: 9.5
"""

import torch


# %% writers
def writers(model, x):
    found, seen, handles = {}, [], []

    def watch(name, module):
        def look(module, inputs):
            seen.append((name, inputs[0], inputs[0]._version, inputs[0].clone()))

        handles.append(module.register_forward_pre_hook(look))

    try:
        for name, module in model.named_modules():
            if not list(module.children()):
                watch(name, module)
        with torch.no_grad():
            model(x.clone())
    finally:
        for handle in handles:
            handle.remove()
    for name, t, version, numbers in seen:
        if t._version != version:
            found[name] = "counted"
        elif not torch.allclose(t, numbers, rtol=0, atol=0, equal_nan=True):
            found[name] = "silent"
    return found
