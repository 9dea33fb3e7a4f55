"""Returns the number of the layer as text.

expects: it returned the text
points: 8
"""

import numpy as np


# %% verdict
def verdict(layers, x, y):
    inner = np.asarray(gains(layers, x, y))[1:]
    if np.prod(inner) >= 1e-3:
        return "healthy"
    return f"layer {np.argmin(inner) + 1}" if np.min(inner) ** 2 <= np.prod(inner) else "everywhere"
