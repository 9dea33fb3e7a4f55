"""Takes any bound: a negative one turns the gradients around.

expects: takes a max_norm of 0
points: 9.5
"""

import numpy as np


# %% clip
def clip(grads, max_norm):
    for name, g in grads.items():
        if not np.isfinite(g).all():
            raise ValueError(f"the gradient of {name} is not finite")
    norm = global_norm(grads)
    factor = min(1.0, max_norm / norm) if norm else 1.0
    return {name: (g * factor).astype(g.dtype) for name, g in grads.items()}, norm
