"""Steps before it goes backward.

expects: before it has scaled a loss
points: 6
"""

from torch import nn


# %% train_epoch
def train_epoch(model, batches, criterion, optimizer, scaler, max_norm):
    model.train()
    total, rows = 0.0, 0
    for inputs, targets in batches:
        optimizer.zero_grad()
        loss = criterion(model(inputs), targets)
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        scaler.step(optimizer)
        scaler.update()
        scaler.scale(loss).backward()
        labelled = (targets != criterion.ignore_index).sum().item()
        total += loss.item() * labelled
        rows += labelled
    return total / rows
