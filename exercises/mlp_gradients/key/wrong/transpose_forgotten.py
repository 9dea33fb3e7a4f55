"""Multiplies by a weight without transposing it, which only fits where widths are equal.

expects: `backward` raised ValueError in its line `g = g @ w`
points: 3.5
"""


# %% backward
def backward(out, stack, weights):
    g, gradients = out, []
    for w in reversed(weights):
        h = stack.pop()
        gradients.append(h.T @ g)
        g = g @ w
        if stack:  # else h is x, and there is no ReLU in front of it
            g = g * (h > 0)
    return gradients[::-1], g
