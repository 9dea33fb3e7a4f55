"""Drops axes of length 1.

expects: with a batch of one,
points: 9.5
"""

import numpy as np


# %% backward
def backward(out, stack, weights):
    g, gradients = out, []
    for w in reversed(weights):
        h, g = np.squeeze(stack.pop()), np.squeeze(g)
        gradients.append(np.dot(h.T, g))
        g = g @ w.T
        if stack:  # else h is x, and there is no ReLU in front of it
            g = g * (h > 0)
    return gradients[::-1], g
