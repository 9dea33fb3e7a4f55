"""Adds up in arrays that np.zeros makes, which are float64 whatever comes in.

expects: something in `tied_gradients` widens
points: 9.5
"""

import numpy as np


# %% tied_gradients
def tied_gradients(x, weights, uses):
    layers = [weights[k] for k in uses]
    of_layers, _ = backward(*forward(x, layers), layers)
    gradients = [np.zeros(w.shape) for w in weights]
    for k, g in zip(uses, of_layers, strict=True):
        gradients[k] = gradients[k] + g
    return gradients
