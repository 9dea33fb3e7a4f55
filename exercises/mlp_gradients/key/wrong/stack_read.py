"""Reads the stack by index, and leaves it as it was.

expects: leaves the whole stack as it was
points: 9.5
"""


# %% backward
def backward(out, stack, weights):
    g, gradients = out, []
    for i in reversed(range(len(weights))):
        gradients.append(stack[i].T @ g)
        g = g @ weights[i].T
        if i > 0:
            g = g * (stack[i] > 0)
    return gradients[::-1], g
