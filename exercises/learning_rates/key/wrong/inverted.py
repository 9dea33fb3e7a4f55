"""Inverts the Hessian, which a flat direction does not allow.

expects: with a flat direction, `largest_stable_rate` raised
points: 9
"""

import numpy as np


# %% largest_stable_rate
def largest_stable_rate(h):
    return 2 * np.linalg.eigvalsh(np.linalg.inv(h))[0]
