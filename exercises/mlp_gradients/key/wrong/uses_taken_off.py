"""Takes the uses off their list.

expects: `tied_gradients` changed `uses`
points: 9.5
"""

import numpy as np


# %% tied_gradients
def tied_gradients(x, weights, uses):
    layers = [weights[k] for k in uses]
    of_layers, _ = backward(*forward(x, layers), layers)
    gradients = [np.zeros_like(w) for w in weights]
    while uses:
        k = uses.pop()
        gradients[k] = gradients[k] + of_layers.pop()
    return gradients
