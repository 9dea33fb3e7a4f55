"""Stops at the sums, and so measures the activation alone.

expects: the gains stop at the sums z
points: 8
"""

import numpy as np


# %% gains
def gains(layers, x, y):
    seen = run(layers, x, y)
    seen["loss"].backward()
    norms = [[np.linalg.norm(t.grad.numpy()) for t in pair] for pair in zip(seen["z"], seen["h"][1:], strict=True)]
    return np.array([left / came if came > 0 else 1.0 for left, came in norms])
