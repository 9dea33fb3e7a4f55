"""Compares the gradients of neighbouring weights.

expects: the gains compare gradients of weights
points: 7
"""

import numpy as np


# %% gains
def gains(layers, x, y):
    seen = run(layers, x, y)
    seen["loss"].backward()
    norms = [np.linalg.norm(w.grad.numpy()) for w in seen["w"]]
    return np.array([1.0] + [norms[i] / norms[i + 1] if norms[i + 1] > 0 else 1.0 for i in range(len(layers) - 1)])
