"""Divides by the root of d what has been divided by it.

expects: `scores` has done that
points: 8.5
"""

import numpy as np


# %% attention
def attention(q, k, v):
    z = scores(q, k) / q.shape[-1] ** 0.5
    largest = z.max(axis=-1, keepdims=True)
    lse = largest + np.log(np.exp(z - largest).sum(axis=-1, keepdims=True))
    return np.exp(z - lse) @ v, lse[..., 0]
