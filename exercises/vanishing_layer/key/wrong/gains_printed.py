"""Prints the gains.

expects: `gains(...)` is None, as happens when a `return` is missing
points: 7
"""

import numpy as np


# %% gains
def gains(layers, x, y):
    seen = run(layers, x, y)
    seen["loss"].backward()
    norms = [np.linalg.norm(h.grad.numpy()) for h in seen["h"]]
    print([norms[i] / norms[i + 1] if norms[i + 1] > 0 else 1.0 for i in range(len(layers))])
