"""Squares the factor, as if the squares of the entries were to be scaled.

expects: `clip` is wrong for ordinary gradients already
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
    if norm <= max_norm:
        return {name: g.copy() for name, g in grads.items()}, norm
    factor = (max_norm / norm) ** 2
    return {name: (g.astype(np.float64) * factor).astype(g.dtype) for name, g in grads.items()}, norm
