"""Returns the stack first.

expects: `forward` returns the stack first
points: 8
"""

import numpy as np


# %% forward
def forward(x, weights):
    stack = [x]
    for w in weights[:-1]:
        stack.append(np.maximum(stack[-1] @ w, 0))
    return stack, stack[-1] @ weights[-1]
