"""Puts a ReLU after the last layer as well.

expects: there is no ReLU after the last layer
points: 9
"""

import numpy as np


# %% forward
def forward(x, weights):
    stack = [x]
    for w in weights[:-1]:
        stack.append(np.maximum(stack[-1] @ w, 0))
    return np.maximum(stack[-1] @ weights[-1], 0), stack
