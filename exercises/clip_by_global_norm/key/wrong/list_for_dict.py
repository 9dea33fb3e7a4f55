"""Returns the arrays without their names.

expects: `clip` must return a dict with the names
points: 5.5
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
    f = min(1.0, max_norm / norm) if norm else 1.0
    return [(g.astype(float) * f).astype(g.dtype) for n, g in grads.items()], norm
