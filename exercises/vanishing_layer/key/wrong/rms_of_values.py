"""Divides root mean squares.

expects: ratios of root mean squares
points: 8
"""

import numpy as np


# %% gains
def gains(layers, x, y):
    seen = run(layers, x, y)
    seen["loss"].backward()
    norms = [np.sqrt(np.mean(h.grad.numpy() ** 2)) for h in seen["h"]]
    return np.array([norms[i] / norms[i + 1] if norms[i + 1] > 0 else 1.0 for i in range(len(layers))])
