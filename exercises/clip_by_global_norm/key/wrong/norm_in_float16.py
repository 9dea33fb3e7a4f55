"""Returns the norm in the dtype of the gradients, which may not hold it.

expects: cannot hold the norm itself
points: 9.75
"""

import numpy as np


# %% global_norm
def global_norm(grads):
    dtype = next(iter(grads.values())).dtype
    norm = np.sqrt(sum(np.square(g.astype(np.float64)).sum() for g in grads.values()))
    with np.errstate(over="ignore"):
        return dtype.type(norm)
