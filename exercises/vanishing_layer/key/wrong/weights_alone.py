"""Judges the weights by themselves, and never looks at the slope.

expects: `cause` blames the weights of a saturated layer
points: 9.5
"""

import numpy as np


# %% cause
def cause(layers, x, y, i):
    return "weights" if np.linalg.norm(layers[i][0], 2) < 0.5 else "activation"
