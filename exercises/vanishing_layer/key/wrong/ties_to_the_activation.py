"""Blames the activation where the ratios are equal.

expects: a layer to which nothing comes: both ratios are 1
points: 9.5
"""

import numpy as np


# %% cause
def cause(layers, x, y, i):
    seen = run(layers, x, y)
    seen["loss"].backward()
    left, between, came = (np.linalg.norm(t.grad.numpy()) for t in (seen["h"][i], seen["z"][i], seen["h"][i + 1]))
    slope = between / came if came > 0 else 1.0
    weights = left / between if between > 0 else 1.0
    return "activation" if slope <= weights else "weights"
