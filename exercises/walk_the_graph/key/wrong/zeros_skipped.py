"""Does not pass on a cotangent that is 0.

expects: where a cotangent is 0, a vjp is not called
points: 9.5
"""

import numpy as np


# %% backward
def backward(result, g):
    arrived = {result: g}
    for value in users_first(result):
        g = arrived.pop(value, 0 * value.data)
        if not value.parents:
            value.grad = g.copy() if value.grad is None else value.grad + g
        for parent, vjp in zip(value.parents, value.vjps, strict=True):
            if np.any(g):
                share = vjp(g)
                arrived[parent] = arrived[parent] + share if parent in arrived else share
