"""Blames the activation of every layer that is saturated or closed.

expects: but its weights take more still
points: 9
"""

import numpy as np


# %% cause
def cause(layers, x, y, i):
    h = run(layers, x, y)["h"][i + 1].detach().numpy()
    return "activation" if np.mean((np.abs(h) > 0.99) | (h == 0)) > 0.5 else "weights"
