"""Multiplies by a mask of float64.

expects: something in `backward` widens
points: 9.5
"""

import numpy as np


# %% backward
def backward(out, stack, weights):
    g, gradients = out, []
    for w in reversed(weights):
        h = stack.pop()
        gradients.append(h.T @ g)
        g = g @ w.T
        if stack:  # else h is x, and there is no ReLU in front of it
            g = g * (h > 0).astype(np.float64)
    return gradients[::-1], g
