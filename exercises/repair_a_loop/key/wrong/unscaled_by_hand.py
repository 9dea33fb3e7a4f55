"""Undoes the scale by hand, and looks for no overflow.

expects: `scaler.step` leaves it out
points: 9
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
        for p in model.parameters():
            p.grad /= scaler.get_scale()
        nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        optimizer.step()
        labelled = (targets != criterion.ignore_index).sum().item()
        total += loss.item() * labelled
        rows += labelled
    return total / rows
