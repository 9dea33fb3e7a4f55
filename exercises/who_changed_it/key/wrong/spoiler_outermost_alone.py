"""Watches the outermost modules alone.

expects: `spoiler` overlooks a module that stands within another one: model.named_modules
points: 9.75
"""

import torch


# %% spoiler
def spoiler(model, x):
    found, handles = [], []

    def watch(name, module):
        def hook(module, returned, received):
            if all_finite(received) and not all_finite(returned):
                found.append(name)

        handles.append(module.register_full_backward_hook(hook))

    try:
        for name, module in model.named_children():
            if not list(module.children()):
                watch(name, module)
        start = x.detach().clone().requires_grad_()
        torch.autograd.grad(model(start).sum(), start)
    finally:
        for handle in handles:
            handle.remove()
    return found[0] if found else None


def all_finite(gradients):
    return all(g is None or g.isfinite().all() for g in gradients)
