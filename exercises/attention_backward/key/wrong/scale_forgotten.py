"""Forgets that the scores are divided by the root of d.

expects: is not divided by sqrt(d)
points: 8.5
"""

import numpy as np


# %% attention_backward
def attention_backward(g, q, k, v, lse):
    p = np.exp(scores(q, k) - lse[..., None])
    dv = p.swapaxes(-1, -2) @ g
    dz = softmax_backward(p, g @ v.swapaxes(-1, -2))
    return dz @ k, dz.swapaxes(-1, -2) @ q, dv
