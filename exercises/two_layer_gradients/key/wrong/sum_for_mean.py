"""Forgets the 1/b of the mean in the gradient of the loss.

expects: gradient of the summed loss
points: 9
"""

import numpy as np


# %% loss_backward
def loss_backward(logits, y):
    shifted = np.exp(logits - logits.max(axis=1, keepdims=True))
    dlogits = shifted / shifted.sum(axis=1, keepdims=True)
    dlogits[np.arange(len(y)), y] -= 1
    return dlogits
