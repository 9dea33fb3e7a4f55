"""Weights each batch by all its rows.

expects: `validate` returns weights each batch by all its rows
points: 9
"""

import torch


# %% validate
@torch.no_grad()
def validate(model, batches, criterion):
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    total, rows = 0.0, 0
    for inputs, targets in batches:
        labelled = len(targets)
        total += criterion(model(inputs), targets).item() * labelled
        rows += labelled
    for module, mode in modes:
        module.training = mode
    return total / rows
