"""Refuses gradients that are all zero.

expects: must stay zero, with norm 0, but
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
    if norm == 0:
        raise ValueError("gradients that are all zero cannot be clipped")
    factor = min(1.0, max_norm / norm)
    return {name: (g.astype(np.float64) * factor).astype(g.dtype) for name, g in grads.items()}, norm
