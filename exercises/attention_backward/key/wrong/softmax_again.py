"""Computes the softmax again, and ignores the log-sum-exp.

expects: returns the same dv
points: 9
"""

import numpy as np


# %% attention_backward
def attention_backward(g, q, k, v, lse):
    z = scores(q, k)
    e = np.exp(z - z.max(axis=-1, keepdims=True))
    p = e / e.sum(axis=-1, keepdims=True)
    dv = p.swapaxes(-1, -2) @ g
    dz = softmax_backward(p, g @ v.swapaxes(-1, -2)) / q.shape[-1] ** 0.5
    return dz @ k, dz.swapaxes(-1, -2) @ q, dv
