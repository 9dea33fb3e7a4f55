"""Forgets the 2 of the gradient.

expects: the steps are half as long
points: 8
"""

import numpy as np


# %% descend
def descend(x, y, w, rate, steps):
    losses = [np.mean((x @ w - y) ** 2)]
    for _ in range(steps):
        w = w - rate * x.T @ (x @ w - y) / len(x)
        losses.append(np.mean((x @ w - y) ** 2))
    return w, losses
