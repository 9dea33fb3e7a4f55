"""Compares the gradients of neighbouring sums.

expects: the gains of a tanh network with layers of different width are wrong
points: 7
"""

import numpy as np


# %% gains
def gains(layers, x, y):
    seen = run(layers, x, y)
    seen["loss"].backward()
    norms = [np.linalg.norm(z.grad.numpy()) for z in seen["z"]]
    return np.array([1.0] + [norms[i] / norms[i + 1] if norms[i + 1] > 0 else 1.0 for i in range(len(layers) - 1)])
