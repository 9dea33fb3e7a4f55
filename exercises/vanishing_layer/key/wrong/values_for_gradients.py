"""Compares the values that go forward.

expects: compare the values h themselves
points: 7
"""

import numpy as np


# %% gains
def gains(layers, x, y):
    seen = run(layers, x, y)
    seen["loss"].backward()
    n = [np.linalg.norm(h.detach().numpy()) for h in seen["h"]]
    return np.array([n[i] / n[i + 1] if n[i + 1] > 0 else 1.0 for i in range(len(layers))])
