"""Begins with ones, whatever it is given.

expects: `backward` begins with ones
points: 8
"""

import numpy as np


# %% backward
def backward(result, g):
    arrived = {result: np.ones_like(result.data)}
    for value in users_first(result):
        g = arrived.pop(value)
        if not value.parents:
            value.grad = g.copy() if value.grad is None else value.grad + g
        for parent, vjp in zip(value.parents, value.vjps, strict=True):
            share = vjp(g)
            arrived[parent] = arrived[parent] + share if parent in arrived else share
