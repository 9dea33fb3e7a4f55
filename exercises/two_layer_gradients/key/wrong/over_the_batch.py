"""Normalises the softmax over the examples.

expects: do not sum to 0: each is one softmax
points: 9
"""

import numpy as np


# %% loss_backward
def loss_backward(logits, y):
    shifted = np.exp(logits - logits.max(axis=0, keepdims=True))
    dlogits = shifted / shifted.sum(axis=0, keepdims=True)
    dlogits[np.arange(len(y)), y] -= 1
    return dlogits / len(y)
