"""Puts a ReLU in front of the first layer, and keeps x without it.

expects: `x` goes in as it is
points: 8
"""

import numpy as np


# %% forward
def forward(x, weights):
    stack = []
    for w in weights:
        stack.append(np.maximum(x, 0))
        x = stack[-1] @ w
    return x, stack
