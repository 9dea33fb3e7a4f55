"""Writes out the two layers of the page.

expects: for 7 rows and 4 weights, `forward` raised ValueError
points: 8
"""

import numpy as np


# %% forward
def forward(x, weights):
    w_0, w_1 = weights
    h = np.maximum(x @ w_0, 0)
    return h @ w_1, [x, h]
