"""Stops the gradient where the output is negative.

expects: is stopped where `out` is negative
points: 7.5
"""


# %% backward
def backward(out, stack, weights):
    g, gradients = out * (out > 0), []
    for w in reversed(weights):
        h = stack.pop()
        gradients.append(h.T @ g)
        g = g @ w.T
        if stack:  # else h is x, and there is no ReLU in front of it
            g = g * (h > 0)
    return gradients[::-1], g
