"""Stops the gradient of x where x is negative, as if a ReLU stood in front of it.

expects: the gradient of x is stopped where x is negative
points: 9
"""


# %% backward
def backward(out, stack, weights):
    g, gradients = out, []
    for w in reversed(weights):
        h = stack.pop()
        gradients.append(h.T @ g)
        g = g @ w.T
        g = g * (h > 0)
    return gradients[::-1], g
