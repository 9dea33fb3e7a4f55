"""Undoes the scale in float16, and goes to float64 afterwards.

expects: it computes in float16, which cannot hold them
points: 9
"""

import numpy as np


# %% step
def step(params, micro_grads, loss_scale, max_norm, lr):
    with np.errstate(over="ignore"):
        unscaled = [{name: (g[name] / loss_scale).astype(np.float64) for name in params} for g in micro_grads]
    mean = {name: sum(g[name] for g in unscaled) / len(unscaled) for name in params}
    clipped, _ = clip(mean, max_norm)
    return {name: params[name] - lr * clipped[name] for name in params}
