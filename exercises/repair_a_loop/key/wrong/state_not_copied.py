"""Keeps the state dict itself.

expects: holds the model's own tensors
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
            best = model.state_dict()
        scheduler.step()
    if best is not None:
        model.load_state_dict(best)
    return history
