"""Looks for the smallest gain among all, layer 0 included.

expects: layer 0 is blamed, although its gain does not count
points: 9.5
"""

import numpy as np


# %% verdict
def verdict(layers, x, y):
    every = np.asarray(gains(layers, x, y))
    inner = every[1:]
    if np.prod(inner) >= 1e-3:
        return "healthy"
    return int(np.argmin(every)) if np.min(inner) ** 2 <= np.prod(inner) else "everywhere"
