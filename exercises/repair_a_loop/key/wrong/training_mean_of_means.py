"""Averages the means of the batches in training.

expects: `train_epoch` returns is the mean of the batches
points: 9.5
"""

from torch import nn


# %% train_epoch
def train_epoch(model, batches, criterion, optimizer, scaler, max_norm):
    model.train()
    total, rows = 0.0, 0
    for inputs, targets in batches:
        optimizer.zero_grad()
        loss = criterion(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        scaler.step(optimizer)
        scaler.update()
        labelled = 1
        total += loss.item()
        rows += labelled
    return total / rows
