"""Blames a layer only below a fixed bar.

expects: with small weights in one layer: everywhere is the verdict
points: 8
"""

import numpy as np


# %% verdict
def verdict(layers, x, y):
    inner = np.asarray(gains(layers, x, y))[1:]
    if np.prod(inner) >= 1e-3:
        return "healthy"
    return int(np.argmin(inner)) + 1 if np.min(inner) <= 1e-3 else "everywhere"
