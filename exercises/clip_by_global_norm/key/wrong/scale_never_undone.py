"""Never undoes the scale, which nobody sees where the gradient is clipped anyway.

expects: clips a gradient that is within the bound
points: 9.5
"""

import numpy as np


# %% step
def step(params, micro_grads, loss_scale, max_norm, lr):
    grads = {n: sum(g[n].astype(np.float64) for g in micro_grads) / len(micro_grads) for n in params}
    c, _ = clip(grads, max_norm)
    return {n: params[n] - lr * c[n] for n in params}
