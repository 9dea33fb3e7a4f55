"""Takes the mean of the gains for their product.

expects: is healthy, although the product
points: 5.5
"""

import numpy as np


# %% verdict
def verdict(layers, x, y):
    inner = np.asarray(gains(layers, x, y))[1:]
    if np.mean(inner) >= 1e-3:
        return "healthy"
    return int(np.argmin(inner)) + 1 if np.min(inner) ** 2 <= np.prod(inner) else "everywhere"
