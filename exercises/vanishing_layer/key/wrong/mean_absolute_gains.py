"""Compares mean absolute values.

expects: ratios of mean absolute values
points: 8
"""

import numpy as np


# %% gains
def gains(layers, x, y):
    seen = run(layers, x, y)
    seen["loss"].backward()
    n = [np.abs(h.grad.numpy()).mean() for h in seen["h"]]
    return np.array([n[i] / n[i + 1] if n[i + 1] > 0 else 1.0 for i in range(len(layers))])
