"""Rounds the norm.

expects: is something rounded off, or added
points: 8.75
"""

import numpy as np


# %% global_norm
def global_norm(grads):
    return round(float(np.sqrt(sum(np.square(g.astype(np.float64)).sum() for g in grads.values()))), 4)
