"""Asks what leaves a layer, not what comes to it, before it divides.

expects: the gain of a closed layer is 1
points: 9
"""

import numpy as np


# %% gains
def gains(layers, x, y):
    seen = run(layers, x, y)
    seen["loss"].backward()
    n = [np.linalg.norm(h.grad.numpy()) for h in seen["h"]]
    return np.array([n[i] / n[i + 1] if n[i] > 0 else 1.0 for i in range(len(layers))])
