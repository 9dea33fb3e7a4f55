"""Steps once more than it is asked to.

expects: one step too many or too few
points: 8
"""

import numpy as np


# %% descend
def descend(x, y, w, rate, steps):
    losses = []
    for _ in range(steps + 1):
        losses.append(np.mean((x @ w - y) ** 2))
        w = w - rate * 2 * x.T @ (x @ w - y) / len(x)
    return w, np.array(losses)
