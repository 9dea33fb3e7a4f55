"""Multiplies the sum by the number of uses.

expects: counts each use more than once
points: 9
"""

import numpy as np


# %% tied_gradients
def tied_gradients(x, weights, uses):
    layers = [weights[k] for k in uses]
    of_layers, _ = backward(*forward(x, layers), layers)
    gradients = [np.zeros_like(w) for w in weights]
    for k, g in zip(uses, of_layers, strict=True):
        gradients[k] = gradients[k] + g * uses.count(k)
    return gradients
