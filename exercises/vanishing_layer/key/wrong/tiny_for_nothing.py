"""Takes what is tiny for nothing.

expects: it is 1 only where nothing at all comes
points: 9
"""

import numpy as np


# %% gains
def gains(layers, x, y):
    seen = run(layers, x, y)
    seen["loss"].backward()
    norms = [np.linalg.norm(h.grad.numpy()) for h in seen["h"]]
    return np.array([norms[i] / norms[i + 1] if norms[i + 1] > 1e-8 else 1.0 for i in range(len(layers))])
