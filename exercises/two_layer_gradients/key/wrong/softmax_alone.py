"""Takes the softmax for the whole gradient and forgets the 1 that goes off at the right class.

expects: softmax alone
points: 9
"""

import numpy as np


# %% loss_backward
def loss_backward(logits, y):
    shifted = np.exp(logits - logits.max(axis=1, keepdims=True))
    return shifted / shifted.sum(axis=1, keepdims=True) / len(y)
