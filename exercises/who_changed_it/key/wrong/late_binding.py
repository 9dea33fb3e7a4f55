"""Makes its hooks in a loop, so that each has the name of the last module.

expects: `writers` names the model's last module, whichever it was
points: 8
"""

import torch


# %% writers
def writers(model, x):
    found, handles, before = {}, [], []
    try:
        for name, module in model.named_modules():
            if not list(module.children()):

                def look(module, inputs):
                    before.append((inputs[0]._version, inputs[0].detach().clone()))

                def compare(module, inputs, output):
                    version, numbers = before.pop()
                    if inputs[0]._version != version:
                        found[name] = "counted"  # noqa: B023
                    elif not torch.allclose(inputs[0], numbers, rtol=0, atol=0, equal_nan=True):
                        found[name] = "silent"  # noqa: B023

                handles.append(module.register_forward_pre_hook(look))
                handles.append(module.register_forward_hook(compare))
        with torch.no_grad():
            model(x.clone())
    finally:
        for handle in handles:
            handle.remove()
    return found
