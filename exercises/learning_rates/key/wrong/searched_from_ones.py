"""Multiplies by the Hessian again and again, from (1, ..., 1) on, which may be the direction of another curvature.

expects: the weakest curvature lies along (1, ..., 1)
points: 8.5
"""

import numpy as np


# %% largest_stable_rate
def largest_stable_rate(h):
    v = np.ones(len(h))
    for _ in range(1000):
        v = h @ v
        v = v / np.linalg.norm(v)
    return 2 / (v @ h @ v)
