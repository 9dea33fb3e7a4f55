"""Does not transpose p in the gradient of the values.

expects: for t = 3, s = 5, d = 4, e = 2, `attention_backward` raised ValueError
points: 6.5
"""

import numpy as np


# %% attention_backward
def attention_backward(g, q, k, v, lse):
    p = np.exp(scores(q, k) - lse[..., None])
    dv = p @ g
    dz = softmax_backward(p, g @ v.swapaxes(-1, -2)) / q.shape[-1] ** 0.5
    return dz @ k, dz.swapaxes(-1, -2) @ q, dv
