"""Never loads the best weights.

expects: load them at the end
points: 8.5
"""

import math


# %% fit
def fit(model, train_once, validate_once, scheduler, epochs):
    history, best_loss = [], math.inf
    for _ in range(epochs):
        train_loss = train_once()
        val_loss = validate_once()
        history.append((train_loss, val_loss))
        if val_loss < best_loss:
            best_loss = val_loss
        scheduler.step()
    return history
