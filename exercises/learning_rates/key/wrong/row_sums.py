"""Bounds the strongest curvature by the sums of rows.

expects: is computed from sums of rows
points: 7.5
"""

import numpy as np


# %% largest_stable_rate
def largest_stable_rate(h):
    return 2 / np.abs(h).sum(axis=1).max()
