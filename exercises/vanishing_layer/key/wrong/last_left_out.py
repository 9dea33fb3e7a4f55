"""Leaves the last layer out, too.

expects: with small weights in the last layer: the verdict is healthy
points: 8
"""

import numpy as np


# %% verdict
def verdict(layers, x, y):
    inner = np.asarray(gains(layers, x, y))[1:-1]
    if np.prod(inner) >= 1e-3:
        return "healthy"
    return int(np.argmin(inner)) + 1 if np.min(inner) ** 2 <= np.prod(inner) else "everywhere"
