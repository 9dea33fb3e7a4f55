"""Sets one hook on modules at large, which runs before those of a module.

expects: on which somebody left a hook
points: 9.5
"""

import torch


# %% spoiler
def spoiler(model, x):
    names, found = {module: name for name, module in model.named_modules()}, []

    def hook(module, returned, received):
        if not list(module.children()) and all_finite(received) and not all_finite(returned):
            found.append(names[module])

    handle = torch.nn.modules.module.register_module_full_backward_hook(hook)
    try:
        start = x.detach().clone().requires_grad_()
        torch.autograd.grad(model(start).sum(), start)
    finally:
        handle.remove()
    return found[0] if found else None


def all_finite(gradients):
    return all(g is None or g.isfinite().all() for g in gradients)
