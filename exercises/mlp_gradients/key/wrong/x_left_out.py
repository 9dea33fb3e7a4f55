"""Stops at the first weight, and returns what is in front of it as the gradient of x.

expects: the gradient of x has shape
points: 9
"""


# %% backward
def backward(out, stack, weights):
    g, gradients = out, []
    for w in reversed(weights):
        h = stack.pop()
        gradients.append(h.T @ g)
        if stack:  # the gradient of x is nobody's business
            g = (g @ w.T) * (h > 0)
    return gradients[::-1], g
