"""Scales to the bound also from below.

expects: makes gradients within the bound longer
points: 9
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
    factor = max_norm / norm if norm else 1.0
    return {name: (g * factor).astype(g.dtype) for name, g in grads.items()}, norm
