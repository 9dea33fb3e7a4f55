"""Leaves the ReLUs out on the way back.

expects: ignores the ReLUs
points: 7
"""


# %% backward
def backward(out, stack, weights):
    g, gradients = out, []
    for w in reversed(weights):
        h = stack.pop()
        gradients.append(h.T @ g)
        g = g @ w.T
    return gradients[::-1], g
