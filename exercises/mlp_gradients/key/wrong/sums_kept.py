"""Keeps the sums from before each ReLU.

expects: sums from before a ReLU
points: 9
"""

import numpy as np


# %% forward
def forward(x, weights):
    h, stack = x, [x]
    for w in weights[:-1]:
        stack.append(h @ w)
        h = np.maximum(stack[-1], 0)
    return h @ weights[-1], stack
