"""Blames one layer where all take a little.

expects: but the verdict blames one
points: 9
"""

import numpy as np


# %% verdict
def verdict(layers, x, y):
    inner = gains(layers, x, y)[1:]
    return "healthy" if np.prod(inner) >= 1e-3 else int(np.argmin(inner)) + 1
