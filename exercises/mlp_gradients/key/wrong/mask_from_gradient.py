"""Stops what is negative on the way back, and not what was on the way there.

expects: is stopped where it is itself negative
points: 7
"""


# %% backward
def backward(out, stack, weights):
    g, gradients = out, []
    for w in reversed(weights):
        h = stack.pop()
        gradients.append(h.T @ g)
        g = g @ w.T
        if stack:  # else h is x, and there is no ReLU in front of it
            g = g * (g > 0)
    return gradients[::-1], g
