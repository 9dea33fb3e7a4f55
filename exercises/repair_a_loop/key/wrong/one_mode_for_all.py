"""Gives the mode of the model to all modules.

expects: a module is in another mode than before
points: 9.5
"""

import torch


# %% validate
@torch.no_grad()
def validate(model, batches, criterion):
    was = model.training
    model.eval()
    total, rows = 0.0, 0
    for inputs, targets in batches:
        labelled = (targets != criterion.ignore_index).sum().item()
        total += criterion(model(inputs), targets).item() * labelled
        rows += labelled
    model.train(was)
    return total / rows
