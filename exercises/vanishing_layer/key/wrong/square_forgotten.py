"""Compares the smallest gain with the product, and forgets the square.

expects: although one layer alone takes the larger part
points: 8.5
"""

import numpy as np


# %% verdict
def verdict(layers, x, y):
    inner = np.asarray(gains(layers, x, y))[1:]
    if np.prod(inner) >= 1e-3:
        return "healthy"
    return int(np.argmin(inner)) + 1 if np.min(inner) <= np.prod(inner) else "everywhere"
