"""Scales the upstream gradient in place.

expects: `attention_backward` changes an array that it was given
points: 9.5
"""

import numpy as np


# %% attention_backward
def attention_backward(g, q, k, v, lse):
    p = np.exp(scores(q, k) - lse[..., None])
    dv = p.swapaxes(-1, -2) @ g
    g /= q.shape[-1] ** 0.5
    dz = softmax_backward(p, g @ v.swapaxes(-1, -2))
    return dz @ k, dz.swapaxes(-1, -2) @ q, dv
