"""Takes the first gradient for every step.

expects: takes the gradient at the start for every step
points: 8
"""

import numpy as np


# %% descend
def descend(x, y, w, rate, steps):
    gradient = 2 * x.T @ (x @ w - y) / len(x)
    losses = [np.mean((x @ w - y) ** 2)]
    for _ in range(steps):
        w = w - rate * gradient
        losses.append(np.mean((x @ w - y) ** 2))
    return w, losses
