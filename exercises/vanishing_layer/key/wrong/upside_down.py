"""Divides what comes by what leaves.

expects: the gains are upside down
points: 7
"""

import numpy as np


# %% gains
def gains(layers, x, y):
    seen = run(layers, x, y)
    seen["loss"].backward()
    norms = [np.linalg.norm(h.grad.numpy()) for h in seen["h"]]
    return np.array([norms[i + 1] / norms[i] if norms[i] > 0 else 1.0 for i in range(len(layers))])
