"""Blames the layer with the smallest gradient.

expects: which only suffers
points: 8
"""

import numpy as np


# %% verdict
def verdict(layers, x, y):
    rms = weight_rms(layers, x, y)
    inner = gains(layers, x, y)[1:]
    if np.prod(inner) >= 1e-3:
        return "healthy"
    return int(np.argmin(rms)) if np.min(inner) ** 2 <= np.prod(inner) else "everywhere"
