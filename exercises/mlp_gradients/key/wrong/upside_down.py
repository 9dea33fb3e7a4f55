"""Puts each array at the front of the stack.

expects: the stack is upside down
points: 9
"""

import numpy as np


# %% forward
def forward(x, weights):
    stack = [x]
    for w in weights[:-1]:
        stack.insert(0, np.maximum(stack[0] @ w, 0))
    return stack[0] @ weights[-1], stack
