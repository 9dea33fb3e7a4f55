"""Subtracts where a ratio was asked for.

expects: the gains are differences
points: 7
"""

import numpy as np


# %% gains
def gains(layers, x, y):
    seen = run(layers, x, y)
    seen["loss"].backward()
    norms = [np.linalg.norm(h.grad.numpy()) for h in seen["h"]]
    return np.array([norms[i + 1] - norms[i] for i in range(len(layers))])
