"""Calls a network healthy down to 0.0001.

expects: the verdict is healthy, although the product of the gains is below 0.001
points: 8
"""

import numpy as np


# %% verdict
def verdict(layers, x, y):
    inner = np.asarray(gains(layers, x, y))[1:]
    if np.prod(inner) >= 1e-4:
        return "healthy"
    return int(np.argmin(inner)) + 1 if np.min(inner) ** 2 <= np.prod(inner) else "everywhere"
