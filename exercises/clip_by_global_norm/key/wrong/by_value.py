"""Clips each entry by itself.

expects: clips each entry by itself
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
    return {name: np.clip(g, -max_norm, max_norm) for name, g in grads.items()}, norm
