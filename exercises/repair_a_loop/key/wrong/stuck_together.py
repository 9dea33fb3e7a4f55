"""Runs on all batches at once.

expects: stuck together
points: 8
"""

import torch


# %% validate
@torch.no_grad()
def validate(model, batches, criterion):
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    inputs, targets = (torch.cat(parts) for parts in zip(*batches, strict=True))
    loss = criterion(model(inputs), targets).item()
    for module, mode in modes:
        module.training = mode
    return loss
