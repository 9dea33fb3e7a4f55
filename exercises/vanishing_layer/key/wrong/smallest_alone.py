"""Calls a network healthy if no single layer takes much.

expects: but the verdict is healthy
points: 7
"""

import numpy as np


# %% verdict
def verdict(layers, x, y):
    inner = gains(layers, x, y)[1:]
    return int(np.argmin(inner)) + 1 if np.min(inner) < 1e-2 else "healthy"
