"""Takes the largest gain for the loss.

expects: the layer with the largest gain
points: 8
"""

import numpy as np


# %% verdict
def verdict(layers, x, y):
    inner = gains(layers, x, y)[1:]
    if np.prod(inner) >= 1e-3:
        return "healthy"
    return int(np.argmax(inner)) + 1 if np.min(inner) ** 2 <= np.prod(inner) else "everywhere"
