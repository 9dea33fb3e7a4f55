"""Names the last module where it found nothing.

expects: names a module though all gradients are finite
points: 9.5
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
        for name, module in model.named_modules():
            if not list(module.children()):
                watch(name, module)
        start = x.detach().clone().requires_grad_()
        torch.autograd.grad(model(start).sum(), start)
    finally:
        for handle in handles:
            handle.remove()
    return found[0] if found else name


def all_finite(gradients):
    return all(g is None or g.isfinite().all() for g in gradients)
