"""Lets a gradient with an infinite entry through, and makes NaN of it.

expects: takes a gradient that holds inf
points: 9.5
"""

import numpy as np


# %% clip
def clip(grads, max_norm):
    if not max_norm > 0:
        raise ValueError(f"max_norm must be above 0, not {max_norm}")
    norm = global_norm(grads)
    factor = min(1.0, max_norm / norm) if norm else 1.0
    with np.errstate(invalid="ignore"):
        return {name: (g * factor).astype(g.dtype) for name, g in grads.items()}, norm
