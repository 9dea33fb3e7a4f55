"""Adds up absolute values: the L1 norm.

expects: it adds up absolute values
points: 8
"""

import numpy as np


# %% global_norm
def global_norm(grads):
    return float(sum(np.abs(g.astype(np.float64)).sum() for g in grads.values()))
