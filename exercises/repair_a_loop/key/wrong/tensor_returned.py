"""Returns a tensor.

expects: `validate` returns a tensor
points: 9.5
"""

import torch


# %% validate
@torch.no_grad()
def validate(model, batches, criterion):
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    total, rows = 0.0, 0
    for inputs, targets in batches:
        labelled = (targets != criterion.ignore_index).sum().item()
        total += criterion(model(inputs), targets) * labelled
        rows += labelled
    for module, mode in modes:
        module.training = mode
    return total / rows
