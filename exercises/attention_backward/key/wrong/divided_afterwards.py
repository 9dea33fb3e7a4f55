"""Divides exponentials that have overflowed.

expects: subtract lse from the scores before exp
points: 9
"""

import numpy as np


# %% attention_backward
def attention_backward(g, q, k, v, lse):
    p = np.exp(scores(q, k)) / np.exp(lse[..., None])
    dv = p.swapaxes(-1, -2) @ g
    dz = softmax_backward(p, g @ v.swapaxes(-1, -2)) / q.shape[-1] ** 0.5
    return dz @ k, dz.swapaxes(-1, -2) @ q, dv
