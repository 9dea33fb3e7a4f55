"""Multiplies by p where the softmax's rule subtracts, too.

expects: subtracts something from dp
points: 8.5
"""

import numpy as np


# %% attention_backward
def attention_backward(g, q, k, v, lse):
    p = np.exp(scores(q, k) - lse[..., None])
    dv = p.swapaxes(-1, -2) @ g
    dz = p * (g @ v.swapaxes(-1, -2)) / q.shape[-1] ** 0.5
    return dz @ k, dz.swapaxes(-1, -2) @ q, dv
