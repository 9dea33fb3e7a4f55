"""Clips each array by its own norm.

expects: clips each array by its own norm
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
    own = {name: np.sqrt(np.square(g.astype(np.float64)).sum()) for name, g in grads.items()}
    factors = {name: min(1.0, max_norm / own[name]) if own[name] else 1.0 for name in grads}
    return {name: (g * factors[name]).astype(g.dtype) for name, g in grads.items()}, norm
