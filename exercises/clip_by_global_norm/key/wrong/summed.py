"""Adds the micro-batches up, where the loss is a mean.

expects: adds the micro-batches up
points: 9.5
"""

import numpy as np


# %% step
def step(params, micro_grads, loss_scale, max_norm, lr):
    grads = {name: sum(g[name].astype(np.float64) for g in micro_grads) / loss_scale for name in params}
    clipped, _ = clip(grads, max_norm)
    return {name: params[name] - lr * clipped[name] for name in params}
