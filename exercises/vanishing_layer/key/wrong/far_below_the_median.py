"""Blames a layer that is far below the median, not one that takes the larger part.

expects: although the others together take more
points: 9.5
"""

import numpy as np


# %% verdict
def verdict(layers, x, y):
    inner = np.asarray(gains(layers, x, y))[1:]
    if np.prod(inner) >= 1e-3:
        return "healthy"
    return int(np.argmin(inner)) + 1 if np.min(inner) < 0.1 * np.median(inner) else "everywhere"
