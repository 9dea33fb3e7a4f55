"""Calls the gain 0 where nothing comes.

expects: below a closed layer the gains are 0
points: 9
"""

import numpy as np


# %% gains
def gains(layers, x, y):
    seen = run(layers, x, y)
    seen["loss"].backward()
    norms = [np.linalg.norm(h.grad.numpy()) for h in seen["h"]]
    return np.array([norms[i] / norms[i + 1] if norms[i + 1] > 0 else 0.0 for i in range(len(layers))])
