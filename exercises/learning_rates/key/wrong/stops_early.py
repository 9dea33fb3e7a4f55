"""Stops where the loss hardly falls.

expects: `descend` stops before its last step
points: 8
"""

import numpy as np


# %% descend
def descend(x, y, w, rate, steps):
    losses = [np.mean((x @ w - y) ** 2)]
    for _ in range(steps):
        w = w - rate * 2 * x.T @ (x @ w - y) / len(x)
        losses.append(np.mean((x @ w - y) ** 2))
        if abs(losses[-2] - losses[-1]) < 1e-6:
            break
    return w, losses
