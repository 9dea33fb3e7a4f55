"""Returns the losses before the weights.

expects: returns the losses first
points: 8
"""

import numpy as np


# %% descend
def descend(x, y, w, rate, steps):
    losses = [np.mean((x @ w - y) ** 2)]
    for _ in range(steps):
        w = w - rate * 2 * x.T @ (x @ w - y) / len(x)
        losses.append(np.mean((x @ w - y) ** 2))
    return np.array(losses), w
