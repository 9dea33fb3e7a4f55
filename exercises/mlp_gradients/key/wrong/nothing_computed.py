"""Computes nothing: zeros and what it was given, in the shapes asked for.

expects: not one gradient is right
points: 0
"""

import numpy as np


# %% forward
def forward(x, weights):
    return np.zeros((len(x), weights[-1].shape[1]), x.dtype), [x] * len(weights)


# %% backward
def backward(out, stack, weights):
    x = stack[0]
    stack.clear()
    return [np.zeros_like(w) for w in weights], np.zeros_like(x)


# %% tied_gradients
def tied_gradients(x, weights, uses):
    return [np.zeros_like(w) for w in weights]
