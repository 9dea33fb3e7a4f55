"""Keeps where each ReLU was open, and not the numbers.

expects: the stack holds masks
points: 9
"""

import numpy as np


# %% forward
def forward(x, weights):
    h, stack = x, [x]
    for w in weights[:-1]:
        h = np.maximum(h @ w, 0)
        stack.append(h > 0)
    return h @ weights[-1], stack
