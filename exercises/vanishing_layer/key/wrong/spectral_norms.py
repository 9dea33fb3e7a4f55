"""Takes norm(g, 2), which for a matrix is its largest singular value.

expects: ratios of spectral norms
points: 8
"""

import numpy as np


# %% gains
def gains(layers, x, y):
    seen = run(layers, x, y)
    seen["loss"].backward()
    n = [np.linalg.norm(h.grad.numpy(), 2) for h in seen["h"]]
    return np.array([n[i] / n[i + 1] if n[i + 1] > 0 else 1.0 for i in range(len(layers))])
