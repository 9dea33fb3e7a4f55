"""Takes the mean, and then its square.

expects: `weight_rms` averages before it squares
points: 9
"""

import numpy as np


# %% weight_rms
def weight_rms(layers, x, y):
    seen = run(layers, x, y)
    seen["loss"].backward()
    return np.array([np.sqrt(np.mean(w.grad.numpy()) ** 2) for w in seen["w"]])
