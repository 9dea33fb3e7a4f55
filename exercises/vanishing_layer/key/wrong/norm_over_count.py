"""Divides outside of the root.

expects: `weight_rms` divides the norm by the number
points: 9
"""

import numpy as np


# %% weight_rms
def weight_rms(layers, x, y):
    seen = run(layers, x, y)
    seen["loss"].backward()
    return np.array([np.linalg.norm(w.grad.numpy()) / w.grad.numpy().size for w in seen["w"]])
