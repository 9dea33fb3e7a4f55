"""Updates the weights it was given.

expects: `descend` changed an array
points: 9.5
"""

import numpy as np


# %% descend
def descend(x, y, w, rate, steps):
    losses = [np.mean((x @ w - y) ** 2)]
    for _ in range(steps):
        w -= rate * 2 * x.T @ (x @ w - y) / len(x)
        losses.append(np.mean((x @ w - y) ** 2))
    return w, losses
