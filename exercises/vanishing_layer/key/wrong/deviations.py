"""Takes numpy's std.

expects: returns standard deviations
points: 9
"""

import numpy as np


# %% weight_rms
def weight_rms(layers, x, y):
    seen = run(layers, x, y)
    seen["loss"].backward()
    return np.array([w.grad.numpy().std() for w in seen["w"]])
