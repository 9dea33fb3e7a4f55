"""Transposes all axes, which suits one head.

expects: transpose the last two axes alone
points: 9.5
"""

import numpy as np


# %% attention_backward
def attention_backward(g, q, k, v, lse):
    p = np.exp(scores(q, k) - lse[..., None])
    dv = p.T @ g
    dz = softmax_backward(p, g @ v.T) / q.shape[-1] ** 0.5
    return dz @ k, dz.T @ q, dv
