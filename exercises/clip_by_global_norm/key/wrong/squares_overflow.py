"""Squares in the dtype of the gradients.

expects: not finite for large, finite float16
points: 9
"""

import numpy as np


# %% global_norm
def global_norm(grads):
    with np.errstate(over="ignore"):
        return float(np.sqrt(sum(np.square(g).sum() for g in grads.values())))
