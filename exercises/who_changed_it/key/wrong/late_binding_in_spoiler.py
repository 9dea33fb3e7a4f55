"""Makes its hooks in a loop, so that each has the name of the last module.

expects: `spoiler` names the model's last module, whichever it was
points: 8
"""

import torch


# %% spoiler
def spoiler(model, x):
    found, handles = [], []
    for name, module in model.named_modules():
        if not list(module.children()):

            def hook(module, returned, received):
                if not all(g.isfinite().all() for g in returned) and all(g.isfinite().all() for g in received):
                    found.append(name)  # noqa: B023 - the mistake

            handles.append(module.register_full_backward_hook(hook))
    try:
        start = x.detach().clone().requires_grad_()
        torch.autograd.grad(model(start).sum(), start)
    finally:
        for handle in handles:
            handle.remove()
    return found[0] if found else None
