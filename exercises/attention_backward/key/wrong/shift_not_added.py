"""Returns the log-sum-exp of the shifted scores.

expects: is that of the shifted scores
points: 9
"""

import numpy as np


# %% attention
def attention(q, k, v):
    z = scores(q, k)
    e = np.exp(z - z.max(axis=-1, keepdims=True))
    total = e.sum(axis=-1, keepdims=True)
    return e / total @ v, np.log(total)[..., 0]
