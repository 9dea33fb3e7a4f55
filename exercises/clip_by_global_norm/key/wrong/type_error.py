"""Raises a TypeError about a gradient that is not finite.

expects: raised TypeError in its line `raise TypeError`; raise a ValueError
points: 9.5
"""

import numpy as np


# %% clip
def clip(grads, max_norm):
    if not max_norm > 0:
        raise ValueError(f"max_norm must be above 0, not {max_norm}")
    for g in grads.values():
        if not np.isfinite(g).all():
            raise TypeError
    norm = global_norm(grads)
    if norm <= max_norm:
        return {name: g.copy() for name, g in grads.items()}, norm
    factor = max_norm / norm
    return {name: (g.astype(np.float64) * factor).astype(g.dtype) for name, g in grads.items()}, norm
