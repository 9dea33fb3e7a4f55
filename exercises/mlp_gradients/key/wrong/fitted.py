"""Tries the product without a transpose first, and transposes only where that does not fit.

expects: where the batch and all widths are equal
points: 9.5
"""


# %% backward
def backward(out, stack, weights):
    g, gradients = out, []
    for w in reversed(weights):
        h = stack.pop()
        gradients.append(h.T @ g)
        g = g @ w if g.shape[1] == w.shape[0] else g @ w.T
        if stack:  # else h is x, and there is no ReLU in front of it
            g = g * (h > 0)
    return gradients[::-1], g
