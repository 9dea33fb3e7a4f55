"""Divides by d for its root.

expects: is divided by d, or by sqrt(d) twice
points: 8.5
"""

import numpy as np


# %% attention_backward
def attention_backward(g, q, k, v, lse):
    p = np.exp(scores(q, k) - lse[..., None])
    dv = p.swapaxes(-1, -2) @ g
    dz = softmax_backward(p, g @ v.swapaxes(-1, -2)) / q.shape[-1]
    return dz @ k, dz.swapaxes(-1, -2) @ q, dv
