"""Switches autograd off for good.

expects: autograd stays switched off
points: 9.5
"""

import torch


# %% validate
def validate(model, batches, criterion):
    torch.set_grad_enabled(False)
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    total, rows = 0.0, 0
    for inputs, targets in batches:
        labelled = (targets != criterion.ignore_index).sum().item()
        total += criterion(model(inputs), targets).item() * labelled
        rows += labelled
    for module, mode in modes:
        module.training = mode
    return total / rows
