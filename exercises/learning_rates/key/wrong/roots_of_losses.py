"""Returns roots of the mean squared errors.

expects: the losses are roots
points: 8
"""

import numpy as np


# %% descend
def descend(x, y, w, rate, steps):
    losses = [np.sqrt(np.mean((x @ w - y) ** 2))]
    for _ in range(steps):
        w = w - rate * 2 * x.T @ (x @ w - y) / len(x)
        losses.append(np.sqrt(np.mean((x @ w - y) ** 2)))
    return w, losses
