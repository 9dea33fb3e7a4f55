"""Divides zero by zero where all gradients are zero.

expects: makes gradients that are all zero NaN
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
    with np.errstate(invalid="ignore"):
        factor = np.minimum(norm, max_norm) / np.float64(norm)
    return {name: (g * factor).astype(g.dtype) for name, g in grads.items()}, norm
