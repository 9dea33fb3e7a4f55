"""Divides by the norm, and forgets the bound.

expects: makes the norm 1
points: 7.5
"""

import numpy as np


# %% clip
def clip(grads, max_norm):
    if not max_norm > 0:
        raise ValueError(f"max_norm must be above 0, not {max_norm}")
    for name, g in grads.items():
        if not np.isfinite(g).all():
            raise ValueError(f"the gradient of {name} is not finite")
    norm = global_norm(grads)
    factor = 1.0 / norm if norm > max_norm else 1.0
    return {name: (g * factor).astype(g.dtype) for name, g in grads.items()}, norm
