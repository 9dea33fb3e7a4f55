"""Returns the sum of the exponentials.

expects: its log is missing
points: 9
"""

import numpy as np


# %% attention
def attention(q, k, v):
    z = scores(q, k)
    largest = z.max(axis=-1, keepdims=True)
    e = np.exp(z - largest)
    total = e.sum(axis=-1, keepdims=True)
    return e / total @ v, (np.exp(largest) * total)[..., 0]
