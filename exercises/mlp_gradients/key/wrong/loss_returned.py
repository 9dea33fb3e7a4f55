"""Returns the loss, where the output is asked for.

expects: return `out` itself, not the loss
points: 8
"""

import numpy as np


# %% forward
def forward(x, weights):
    stack = [x]
    for w in weights[:-1]:
        stack.append(np.maximum(stack[-1] @ w, 0))
    return 0.5 * np.square(stack[-1] @ weights[-1]).sum(), stack
