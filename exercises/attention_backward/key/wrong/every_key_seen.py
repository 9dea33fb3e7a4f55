"""Computes the scores without the mask.

expects: the output of `attention` lets a query see every key
points: 8.5
"""

import numpy as np


# %% attention
def attention(q, k, v):
    z = q @ k.swapaxes(-1, -2) / q.shape[-1] ** 0.5
    largest = z.max(axis=-1, keepdims=True)
    lse = largest + np.log(np.exp(z - largest).sum(axis=-1, keepdims=True))
    return np.exp(z - lse) @ v, lse[..., 0]
