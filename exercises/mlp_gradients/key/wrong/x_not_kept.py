"""Keeps what each ReLU gave, and not x.

expects: `x` is not on the stack
points: 9
"""

import numpy as np


# %% forward
def forward(x, weights):
    h, stack = x, []
    for w in weights[:-1]:
        h = np.maximum(h @ w, 0)
        stack.append(h)
    return h @ weights[-1], stack
