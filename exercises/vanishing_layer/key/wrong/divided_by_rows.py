"""Divides by the number of rows.

expects: divides by the number of rows
points: 9
"""

import numpy as np


# %% weight_rms
def weight_rms(layers, x, y):
    seen = run(layers, x, y)
    seen["loss"].backward()
    return np.array([np.sqrt((w.grad.numpy() ** 2).sum() / len(w.grad.numpy())) for w in seen["w"]])
