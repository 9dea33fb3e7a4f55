"""Blames the smallest gain, however large it is.

expects: a layer is blamed although
points: 7.5
"""

import numpy as np


# %% verdict
def verdict(layers, x, y):
    inner = gains(layers, x, y)[1:]
    return int(np.argmin(inner)) + 1
