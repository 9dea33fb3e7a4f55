"""Counts the gain of layer 0, too.

expects: its gain does not count
points: 9.5
"""

import numpy as np


# %% verdict
def verdict(layers, x, y):
    all_gains = gains(layers, x, y)
    if np.prod(all_gains) >= 1e-3:
        return "healthy"
    return int(np.argmin(all_gains)) if np.min(all_gains) ** 2 <= np.prod(all_gains) else "everywhere"
