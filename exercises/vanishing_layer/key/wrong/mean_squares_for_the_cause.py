"""Compares root mean squares, which count the widths.

expects: compare norms, whatever the widths
points: 9.5
"""

import numpy as np


# %% cause
def cause(layers, x, y, i):
    seen = run(layers, x, y)
    seen["loss"].backward()
    left, between, came = (
        np.sqrt(np.mean(t.grad.numpy() ** 2)) for t in (seen["h"][i], seen["z"][i], seen["h"][i + 1])
    )
    slope = between / came if came > 0 else 1.0
    weights = left / between if between > 0 else 1.0
    return "activation" if slope < weights else "weights"
