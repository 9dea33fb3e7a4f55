"""Looks at the norm alone, and so cannot say whose gradient is broken.

expects: must contain the array's name
points: 9.5
"""

import numpy as np


# %% clip
def clip(grads, max_norm):
    norm = global_norm(grads)
    if not max_norm > 0 or not np.isfinite(norm):
        raise ValueError("the bound must be above 0, and the gradients finite")
    factor = min(1.0, max_norm / norm) if norm else 1.0
    return {name: (g * factor).astype(g.dtype) for name, g in grads.items()}, norm
