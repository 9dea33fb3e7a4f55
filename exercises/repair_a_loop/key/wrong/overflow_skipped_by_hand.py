"""Looks for the overflow by hand, and never halves the scale.

expects: the scale stays what it was
points: 9
"""

import torch
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
        norm = nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        if torch.isfinite(norm):
            optimizer.step()
        labelled = (targets != criterion.ignore_index).sum().item()
        total += loss.item() * labelled
        rows += labelled
    return total / rows
