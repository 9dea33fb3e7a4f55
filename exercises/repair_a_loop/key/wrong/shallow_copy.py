"""Copies the dict, and none of its tensors.

expects: train on, so copy them
points: 9
"""

import math


# %% fit
def fit(model, train_once, validate_once, scheduler, epochs):
    history, best, best_loss = [], None, math.inf
    for _ in range(epochs):
        train_loss = train_once()
        val_loss = validate_once()
        history.append((train_loss, val_loss))
        if val_loss < best_loss:
            best_loss = val_loss
            best = dict(model.state_dict())
        scheduler.step()
    if best is not None:
        model.load_state_dict(best)
    return history
