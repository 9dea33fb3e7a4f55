"""Divides by the gradient at the output.

expects: the gains are counted from the output
points: 7
"""

import numpy as np


# %% gains
def gains(layers, x, y):
    seen = run(layers, x, y)
    seen["loss"].backward()
    norms = [np.linalg.norm(h.grad.numpy()) for h in seen["h"]]
    return np.array([left / norms[-1] for left in norms[:-1]])
