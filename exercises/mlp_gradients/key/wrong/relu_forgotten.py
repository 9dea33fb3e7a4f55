"""Multiplies by all weights, with no ReLU between them.

expects: there is a ReLU between two layers
points: 8
"""


# %% forward
def forward(x, weights):
    stack = [x]
    for w in weights[:-1]:
        stack.append(stack[-1] @ w)
    return stack[-1] @ weights[-1], stack
