"""Joins the pieces, which saves nothing.

expects: more rows than one piece has
points: 7
"""

import numpy as np


# %% accumulate
def accumulate(params, pieces):
    return whole(params, np.concatenate([x for x, _ in pieces]), np.concatenate([y for _, y in pieces]))
