"""Calls a network healthy only above 0.1.

expects: every layer is blamed although
points: 9.5
"""

import numpy as np


# %% verdict
def verdict(layers, x, y):
    inner = np.asarray(gains(layers, x, y))[1:]
    if np.prod(inner) >= 0.1:
        return "healthy"
    return int(np.argmin(inner)) + 1 if np.min(inner) ** 2 <= np.prod(inner) else "everywhere"
