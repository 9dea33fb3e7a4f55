"""Takes the exponentials of the scores as they are.

expects: exp overflows
points: 9.5
"""

import numpy as np


# %% attention
def attention(q, k, v):
    e = np.exp(scores(q, k))
    total = e.sum(axis=-1, keepdims=True)
    return e / total @ v, np.log(total)[..., 0]
