"""Joins the pieces of each group, which saves nothing.

expects: `train` gives mean_loss more rows
points: 7
"""

import numpy as np


# %% train
def train(params, pieces, rate, every):
    for i in range(0, len(pieces), every):
        x, y = (np.concatenate(arrays) for arrays in zip(*pieces[i : i + every], strict=True))
        _, grads = whole(params, x, y)
        params = {name: array - rate * grads[name] for name, array in params.items()}
    return params
