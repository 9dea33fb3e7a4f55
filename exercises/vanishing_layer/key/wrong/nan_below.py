"""Divides 0 by 0.

expects: are not finite
points: 9
"""

import numpy as np


# %% gains
def gains(layers, x, y):
    seen = run(layers, x, y)
    seen["loss"].backward()
    norms = [np.linalg.norm(h.grad.numpy()) for h in seen["h"]]
    with np.errstate(invalid="ignore"):
        return np.array(norms[:-1]) / np.array(norms[1:])
