"""Takes the gradient of the probabilities for that of the scores.

expects: goes past the softmax in `attention_backward`:
points: 8.5
"""

import numpy as np


# %% attention_backward
def attention_backward(g, q, k, v, lse):
    p = np.exp(scores(q, k) - lse[..., None])
    dv = p.swapaxes(-1, -2) @ g
    dz = g @ v.swapaxes(-1, -2) / q.shape[-1] ** 0.5
    return dz @ k, dz.swapaxes(-1, -2) @ q, dv
