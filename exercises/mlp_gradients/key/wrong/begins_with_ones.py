"""Begins with ones, the slope of the sum of the outputs.

expects: is that of the sum of the outputs
points: 7.5
"""

import numpy as np


# %% backward
def backward(out, stack, weights):
    g, gradients = np.ones_like(out), []
    for w in reversed(weights):
        h = stack.pop()
        gradients.append(h.T @ g)
        g = g @ w.T
        if stack:  # else h is x, and there is no ReLU in front of it
            g = g * (h > 0)
    return gradients[::-1], g
