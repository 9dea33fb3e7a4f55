"""Reverses the caller's list of weights.

expects: `backward` changed `weights
points: 9.5
"""


# %% backward
def backward(out, stack, weights):
    g, gradients = out, []
    weights.reverse()
    for w in weights:
        h = stack.pop()
        gradients.append(h.T @ g)
        g = g @ w.T
        if stack:  # else h is x, and there is no ReLU in front of it
            g = g * (h > 0)
    return gradients[::-1], g
