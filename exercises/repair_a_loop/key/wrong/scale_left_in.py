"""Never undoes the scale.

expects: is still multiplied by the scale
points: 6
"""


# %% train_epoch
def train_epoch(model, batches, criterion, optimizer, scaler, max_norm):
    model.train()
    total, rows = 0.0, 0
    for inputs, targets in batches:
        optimizer.zero_grad()
        loss = criterion(model(inputs), targets)
        scaler.scale(loss).backward()
        optimizer.step()
        labelled = (targets != criterion.ignore_index).sum().item()
        total += loss.item() * labelled
        rows += labelled
    return total / rows
