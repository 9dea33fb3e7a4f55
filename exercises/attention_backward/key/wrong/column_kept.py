"""Returns the log-sum-exp as a column.

expects: is a column
points: 8.5
"""

import numpy as np


# %% attention
def attention(q, k, v):
    z = scores(q, k)
    largest = z.max(axis=-1, keepdims=True)
    lse = largest + np.log(np.exp(z - largest).sum(axis=-1, keepdims=True))
    return np.exp(z - lse) @ v, lse
