"""Judges the activation by itself, and never looks at the weights.

expects: compare the two ratios
points: 9
"""

import numpy as np


# %% cause
def cause(layers, x, y, i):
    seen = run(layers, x, y)
    seen["loss"].backward()
    between, came = (np.linalg.norm(t.grad.numpy()) for t in (seen["z"][i], seen["h"][i + 1]))
    return "activation" if between < 0.1 * came else "weights"
