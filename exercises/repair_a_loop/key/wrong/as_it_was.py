"""Hands in the broken loop.

expects: and is the mean of the batches
points: 1.5
"""


# %% validate
def validate(model, batches, criterion):
    return their_validate(model, batches, criterion)


# %% train_epoch
def train_epoch(model, batches, criterion, optimizer, scaler, max_norm):
    return their_train_epoch(model, batches, criterion, optimizer, scaler, max_norm)


# %% fit
def fit(model, train_once, validate_once, scheduler, epochs):
    return their_fit(model, train_once, validate_once, scheduler, epochs)
