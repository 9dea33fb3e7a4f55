"""Takes the largest element.

expects: returns the largest elements
points: 9
"""

import numpy as np


# %% weight_rms
def weight_rms(layers, x, y):
    seen = run(layers, x, y)
    seen["loss"].backward()
    return np.array([np.abs(w.grad.numpy()).max() for w in seen["w"]])
