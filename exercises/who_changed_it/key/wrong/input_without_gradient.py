"""Gives the model an input that requires no gradient, so modules before the first parameter save nothing.

expects: does the model's input require a gradient
points: 9
"""

import torch


# %% stale
def stale(model, x):
    running, saved, handles = [], [], []

    def watch(name, module):
        handles.append(module.register_forward_pre_hook(lambda module, inputs: running.append(name)))
        handles.append(module.register_forward_hook(leave))

    def leave(module, inputs, output):
        running.pop()

    def pack(t):
        if running:
            saved.append((running[-1], t, t._version))
        return t

    try:
        for name, module in model.named_modules():
            if not list(module.children()):
                watch(name, module)
        with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
            model(x.clone())
    finally:
        for handle in handles:
            handle.remove()
    return list(dict.fromkeys(name for name, t, version in saved if t._version != version))
