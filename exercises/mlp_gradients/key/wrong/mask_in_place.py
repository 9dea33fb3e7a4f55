"""Turns what it pops into a mask in place, and x with it.

expects: `backward` changed `stack[
points: 9.5
"""

import numpy as np


# %% backward
def backward(out, stack, weights):
    g, gradients = out, []
    for w in reversed(weights):
        h = stack.pop()
        gradients.append(h.T @ g)
        g = g @ w.T
        np.greater(h, 0, out=h, casting="unsafe")
        if stack:
            g = g * h
    return gradients[::-1], g
