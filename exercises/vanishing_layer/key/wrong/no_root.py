"""Forgets the root.

expects: the mean of the squares
points: 9
"""

import numpy as np


# %% weight_rms
def weight_rms(layers, x, y):
    seen = run(layers, x, y)
    seen["loss"].backward()
    return np.array([(w.grad.numpy() ** 2).mean() for w in seen["w"]])
