"""Copies `g` at the start, but shares the copy among the leaves.

expects: the .grad arrays of two leaves share memory
points: 9.75
"""

import numpy as np


# %% backward
def backward(result, g):
    arrived = {result: np.array(g)}
    for value in users_first(result):
        g = arrived.pop(value)
        if not value.parents:
            value.grad = g if value.grad is None else value.grad + g
        for parent, vjp in zip(value.parents, value.vjps, strict=True):
            share = vjp(g)
            arrived[parent] = arrived[parent] + share if parent in arrived else share
