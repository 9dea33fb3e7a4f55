"""Returns the gradients in the order of v, q and k.

expects: in another order
points: 6.5
"""

import numpy as np


# %% attention_backward
def attention_backward(g, q, k, v, lse):
    p = np.exp(scores(q, k) - lse[..., None])
    dv = p.swapaxes(-1, -2) @ g
    dz = softmax_backward(p, g @ v.swapaxes(-1, -2)) / q.shape[-1] ** 0.5
    return dv, dz @ k, dz.swapaxes(-1, -2) @ q
