"""Adds up the squares, and forgets the root.

expects: the root of the sum is missing
points: 8
"""

import numpy as np


# %% global_norm
def global_norm(grads):
    return float(sum(np.square(g.astype(np.float64)).sum() for g in grads.values()))
