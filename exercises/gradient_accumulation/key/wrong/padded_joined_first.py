"""Joins the padded pieces, which saves nothing.

expects: `accumulate_padded` gives mean_loss more rows
points: 7.5
"""

import numpy as np


# %% accumulate_padded
def accumulate_padded(params, pieces):
    return whole(params, np.concatenate([x for x, _ in pieces]), np.concatenate([y for _, y in pieces]))
