"""Adds up the norms of the arrays.

expects: it adds up the arrays' norms
points: 8
"""

import numpy as np


# %% global_norm
def global_norm(grads):
    return float(sum(np.sqrt(np.square(g.astype(np.float64)).sum()) for g in grads.values()))
