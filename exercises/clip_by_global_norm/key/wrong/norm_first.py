"""Returns the norm before the gradients.

expects: `clip` returns the norm first
points: 5.5
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
    factor = min(1.0, max_norm / norm) if norm else 1.0
    return norm, {name: (g.astype(np.float64) * factor).astype(g.dtype) for name, g in grads.items()}
