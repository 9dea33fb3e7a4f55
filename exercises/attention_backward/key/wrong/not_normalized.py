"""Weighs the values by the exponentials.

expects: is not divided by the sum of the exponentials
points: 9
"""

import numpy as np


# %% attention
def attention(q, k, v):
    z = scores(q, k)
    largest = z.max(axis=-1, keepdims=True)
    lse = largest + np.log(np.exp(z - largest).sum(axis=-1, keepdims=True))
    return np.exp(z) @ v, lse[..., 0]
