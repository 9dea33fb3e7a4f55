"""Notes the loss before each step, and not the one after the last.

expects: the losses have the wrong length
points: 8
"""

import numpy as np


# %% descend
def descend(x, y, w, rate, steps):
    losses = []
    for _ in range(steps):
        error = x @ w - y
        losses.append(np.mean(error**2))
        w = w - rate * 2 * x.T @ error / len(x)
    return w, losses
