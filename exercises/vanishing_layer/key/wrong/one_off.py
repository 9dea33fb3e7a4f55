"""Counts from the second layer.

expects: gains[1:] begins with layer 1
points: 8
"""

import numpy as np


# %% verdict
def verdict(layers, x, y):
    inner = gains(layers, x, y)[1:]
    if np.prod(inner) >= 1e-3:
        return "healthy"
    return int(np.argmin(inner)) if np.min(inner) ** 2 <= np.prod(inner) else "everywhere"
