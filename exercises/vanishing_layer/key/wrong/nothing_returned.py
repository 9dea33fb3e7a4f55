"""Prints the verdict, and does not return it.

expects: `verdict` must return "healthy"
points: 5.5
"""

import numpy as np


# %% verdict
def verdict(layers, x, y):
    inner = np.asarray(gains(layers, x, y))[1:]
    found = int(np.argmin(inner)) + 1 if np.min(inner) ** 2 <= np.prod(inner) else "everywhere"
    print("healthy" if np.prod(inner) >= 1e-3 else found)
