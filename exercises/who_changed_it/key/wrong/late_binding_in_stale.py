"""Makes its hooks in a loop, so that each has the name of the last module.

expects: `stale` names the model's last module, whichever it was
points: 8.5
"""

import torch


# %% stale
def stale(model, x):
    running, saved, handles = [], [], []

    def pack(t):
        if running:
            saved.append((running[-1], t, t._version))
        return t

    try:
        for name, module in model.named_modules():
            if not list(module.children()):
                handles.append(module.register_forward_pre_hook(lambda module, inputs: running.append(name)))  # noqa: B023 - the mistake
                handles.append(module.register_forward_hook(lambda module, inputs, output: running.clear()))
        with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
            model(x.detach().requires_grad_().clone())
    finally:
        for handle in handles:
            handle.remove()
    return list(dict.fromkeys(name for name, t, version in saved if t._version != version))
