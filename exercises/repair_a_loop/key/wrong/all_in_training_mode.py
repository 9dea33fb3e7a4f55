"""Puts every module into training mode afterwards.

expects: train() puts all of them into training mode
points: 9.5
"""

import torch


# %% validate
@torch.no_grad()
def validate(model, batches, criterion):
    model.eval()
    total, rows = 0.0, 0
    for inputs, targets in batches:
        labelled = (targets != criterion.ignore_index).sum().item()
        total += criterion(model(inputs), targets).item() * labelled
        rows += labelled
    model.train()
    return total / rows
