"""Puts each gradient in its weight's place, over the one that was there.

expects: is that of its last use
points: 9
"""

import numpy as np


# %% tied_gradients
def tied_gradients(x, weights, uses):
    layers = [weights[k] for k in uses]
    of_layers, _ = backward(*forward(x, layers), layers)
    gradients = [np.zeros_like(w) for w in weights]
    for k, g in zip(uses, of_layers, strict=True):
        gradients[k] = g
    return gradients
