"""Multiplies by what the ReLU gave, and not by its slope.

expects: is multiplied by the result of a ReLU
points: 7.5
"""


# %% backward
def backward(out, stack, weights):
    g, gradients = out, []
    for w in reversed(weights):
        h = stack.pop()
        gradients.append(h.T @ g)
        g = g @ w.T
        if stack:  # else h is x, and there is no ReLU in front of it
            g = g * h
    return gradients[::-1], g
