"""Keeps the gradient of the first use.

expects: is that of its first use
points: 9
"""

import numpy as np


# %% tied_gradients
def tied_gradients(x, weights, uses):
    layers = [weights[k] for k in uses]
    of_layers, _ = backward(*forward(x, layers), layers)
    gradients = [np.zeros_like(w) for w in weights]
    for k, g in reversed(list(zip(uses, of_layers, strict=True))):
        gradients[k] = g
    return gradients
