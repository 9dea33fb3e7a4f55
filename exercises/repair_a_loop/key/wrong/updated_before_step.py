"""Updates the scaler before it steps.

expects: is `update` before `step`
points: 8.5
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
        scaler.update()
        scaler.step(optimizer)
        labelled = (targets != criterion.ignore_index).sum().item()
        total += loss.item() * labelled
        rows += labelled
    return total / rows
