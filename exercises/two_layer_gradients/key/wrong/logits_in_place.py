"""Subtracts the maximum from the logits in place.

expects: `loss_backward` changed
points: 9.5
"""

import numpy as np


# %% loss_backward
def loss_backward(logits, y):
    logits -= logits.max(axis=1, keepdims=True)
    d = np.exp(logits)
    d /= d.sum(axis=1, keepdims=True)
    d[np.arange(len(y)), y] -= 1
    return d / len(y)
