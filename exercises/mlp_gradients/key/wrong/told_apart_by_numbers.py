"""Takes two weights that hold the same numbers for one.

expects: are taken for one
points: 9.5
"""

import numpy as np


# %% tied_gradients
def tied_gradients(x, weights, uses):
    layers = [weights[k] for k in uses]
    of_layers, _ = backward(*forward(x, layers), layers)
    gradients = [np.zeros_like(w) for w in weights]
    for layer, g in zip(layers, of_layers, strict=True):
        k = next(k for k, w in enumerate(weights) if np.array_equal(w, layer))
        gradients[k] = gradients[k] + g
    return gradients
