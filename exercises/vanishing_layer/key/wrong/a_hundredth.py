"""Takes a gain below 0.01 for the sign of a broken layer, whatever the others do.

expects: with a gain of 0.02, and 0.035 for all the others together
points: 7.5
"""

import numpy as np


# %% verdict
def verdict(layers, x, y):
    inner = np.asarray(gains(layers, x, y))[1:]
    if np.prod(inner) >= 1e-3:
        return "healthy"
    return int(np.argmin(inner)) + 1 if np.min(inner) < 0.01 else "everywhere"
