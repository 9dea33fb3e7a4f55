"""Subtracts the largest of all scores from every row.

expects: unless you subtract the largest score of each row
points: 9.5
"""

import numpy as np


# %% attention
def attention(q, k, v):
    z = scores(q, k)
    largest = z.max()
    lse = largest + np.log(np.exp(z - largest).sum(axis=-1, keepdims=True))
    return np.exp(z - lse) @ v, lse[..., 0]
