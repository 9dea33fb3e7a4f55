"""Returns the norm of the last array.

expects: it is the norm of the last array alone
points: 8
"""

import numpy as np


# %% global_norm
def global_norm(grads):
    for g in grads.values():
        n = np.linalg.norm(g.astype(np.float64).ravel())
    return float(n)
