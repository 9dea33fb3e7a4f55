"""Returns the dict it was given where nothing is clipped.

expects: returns the very dict that it was given
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
    if norm <= max_norm:
        return grads, norm
    return {name: (g.astype(np.float64) * (max_norm / norm)).astype(g.dtype) for name, g in grads.items()}, norm
