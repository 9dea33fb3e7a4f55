"""Adds a small number above and below, so that nothing over nothing is 1.

expects: a small number is added to the norm
points: 9
"""

import numpy as np


# %% gains
def gains(layers, x, y):
    seen = run(layers, x, y)
    seen["loss"].backward()
    norms = [np.linalg.norm(h.grad.numpy()) for h in seen["h"]]
    return np.array([(norms[i] + 1e-12) / (norms[i + 1] + 1e-12) for i in range(len(layers))])
