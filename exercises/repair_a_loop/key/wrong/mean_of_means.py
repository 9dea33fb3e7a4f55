"""Averages the means of the batches.

expects: `validate` returns is the mean of the batches
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
        labelled = 1
        total += criterion(model(inputs), targets).item()
        rows += labelled
    for module, mode in modes:
        module.training = mode
    return total / rows
