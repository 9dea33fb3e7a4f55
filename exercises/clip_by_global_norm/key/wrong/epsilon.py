"""Adds a small number to the norm, as torch does, so as not to divide by zero.

expects: is something added to the norm
points: 9.5
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
    factor = min(1.0, max_norm / (norm + 1e-6))
    return {name: (g * factor).astype(g.dtype) for name, g in grads.items()}, norm
