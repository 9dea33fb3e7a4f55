"""Returns norms.

expects: `weight_rms` returns norms
points: 9
"""

import numpy as np


# %% weight_rms
def weight_rms(layers, x, y):
    seen = run(layers, x, y)
    seen["loss"].backward()
    return np.array([np.linalg.norm(w.grad.numpy()) for w in seen["w"]])
