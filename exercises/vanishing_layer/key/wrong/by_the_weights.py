"""Judges by the ratio of the weights' gradients.

expects: small inputs make a small gradient
points: 7.5
"""

import numpy as np


# %% verdict
def verdict(layers, x, y):
    rms = weight_rms(layers, x, y)
    inner = gains(layers, x, y)[1:]
    if np.min(rms) >= 1e-3 * np.max(rms):
        return "healthy"
    return int(np.argmin(inner)) + 1 if np.min(inner) ** 2 <= np.prod(inner) else "everywhere"
