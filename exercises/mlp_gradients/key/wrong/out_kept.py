"""Puts the output on the stack as well, as the page does.

expects: leave it off the stack
points: 9
"""

import numpy as np


# %% forward
def forward(x, weights):
    stack = [x]
    for w in weights[:-1]:
        stack.append(np.maximum(stack[-1] @ w, 0))
    stack.append(stack[-1] @ weights[-1])
    return stack[-1], stack
