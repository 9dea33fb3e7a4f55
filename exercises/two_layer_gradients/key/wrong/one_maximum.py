"""Subtracts one maximum for the whole batch.

expects: far below another: subtract what belongs to the row
points: 9
"""

import numpy as np


# %% loss_backward
def loss_backward(logits, y):
    shifted = np.exp(logits - logits.max())
    dlogits = shifted / shifted.sum(axis=1, keepdims=True)
    dlogits[np.arange(len(y)), y] -= 1
    return dlogits / len(y)
