"""Collects cotangents in .grad, as the page does.

expects: the result has a .grad
points: 9
"""

import numpy as np


# %% backward
def backward(result, g):
    result.grad = np.array(g)
    for value in users_first(result):
        for parent, vjp in zip(value.parents, value.vjps, strict=True):
            share = vjp(value.grad)
            parent.grad = np.array(share) if parent.grad is None else parent.grad + share
