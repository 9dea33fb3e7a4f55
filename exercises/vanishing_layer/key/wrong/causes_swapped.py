"""Names the larger of the two.

expects: `cause` blames the activation where
points: 8.5
"""

import numpy as np


# %% cause
def cause(layers, x, y, i):
    seen = run(layers, x, y)
    seen["loss"].backward()
    left, between, came = (np.linalg.norm(t.grad.numpy()) for t in (seen["h"][i], seen["z"][i], seen["h"][i + 1]))
    slope = between / came if came > 0 else 1.0
    return "weights" if slope < (left / between if between > 0 else 1.0) else "activation"
