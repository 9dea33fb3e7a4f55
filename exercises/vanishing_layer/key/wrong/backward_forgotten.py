"""Reads gradients that nobody computed.

expects: until a backward() has filled it
points: 9
"""

import numpy as np


# %% weight_rms
def weight_rms(layers, x, y):
    seen = run(layers, x, y)
    return np.array([np.sqrt(np.mean(w.grad.numpy() ** 2)) for w in seen["w"]])
