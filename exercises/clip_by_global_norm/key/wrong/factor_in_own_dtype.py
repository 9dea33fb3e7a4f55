"""Multiplies and divides in the dtype of each array.

expects: whose norm does not fit float16: multiply
points: 9.5
"""

import numpy as np


# %% clip
def clip(grads, max_norm):
    if not max_norm > 0:
        raise ValueError("max_norm")
    for n, g in grads.items():
        if not np.isfinite(g).all():
            raise ValueError(n)
    norm = global_norm(grads)
    if norm <= max_norm:
        return {n: g.copy() for n, g in grads.items()}, norm
    return {n: g * g.dtype.type(max_norm) / g.dtype.type(norm) for n, g in grads.items()}, norm
