"""Begins with the slope of the sum of squares, without the half.

expects: is twice what it must be
points: 7.5
"""


# %% backward
def backward(out, stack, weights):
    g, gradients = 2 * out, []
    for w in reversed(weights):
        h = stack.pop()
        gradients.append(h.T @ g)
        g = g @ w.T
        if stack:  # else h is x, and there is no ReLU in front of it
            g = g * (h > 0)
    return gradients[::-1], g
