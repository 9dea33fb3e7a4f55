"""Has the forward pass of two layers from the course's library, and a loop for the others.

expects: `forward` uses `course_lib.mlp
points: 8
"""

import numpy as np


# %% forward
def forward(x, weights):
    from course_lib.mlp import mlp_activations

    stack = [x]
    for w in weights[:-2]:
        stack.append(np.maximum(stack[-1] @ w, 0))
    if len(weights) == 1:
        return x @ weights[0], stack
    _, [*last, out] = mlp_activations(stack.pop(), *weights[-2:])
    return out, stack + last
