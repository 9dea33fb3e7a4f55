"""Lists the layers in the order in which backward reaches them.

expects: `weight_rms` begins at the output
points: 9
"""

import numpy as np


# %% weight_rms
def weight_rms(layers, x, y):
    seen = run(layers, x, y)
    seen["loss"].backward()
    return np.array([np.sqrt(np.mean(w.grad.numpy() ** 2)) for w in reversed(seen["w"])])
