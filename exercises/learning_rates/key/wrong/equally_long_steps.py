"""Divides the gradient by its length.

expects: all steps are then equally long
points: 8
"""

import numpy as np


# %% descend
def descend(x, y, w, rate, steps):
    losses = [np.mean((x @ w - y) ** 2)]
    for _ in range(steps):
        g = 2 * x.T @ (x @ w - y) / len(x)
        w = w - rate * g / np.linalg.norm(g)
        losses.append(np.mean((x @ w - y) ** 2))
    return w, np.array(losses)
