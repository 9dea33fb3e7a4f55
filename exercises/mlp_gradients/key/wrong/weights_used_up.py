"""Takes the weights off their list, which is then empty.

expects: `forward` changed `weights`
points: 9.5
"""

import numpy as np


# %% forward
def forward(x, weights):
    stack = [x]
    while len(weights) > 1:
        stack.append(np.maximum(stack[-1] @ weights.pop(0), 0))
    return stack[-1] @ weights.pop(), stack
