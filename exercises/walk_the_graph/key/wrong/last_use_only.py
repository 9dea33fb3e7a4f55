"""Keeps only what came last.

expects: where one operation uses a value twice, a gradient is wrong
points: 7.5
"""


# %% backward
def backward(result, g):
    arrived = {result: g}
    for value in users_first(result):
        g = arrived.pop(value)
        if not value.parents:
            value.grad = g.copy() if value.grad is None else value.grad + g
        for parent, vjp in zip(value.parents, value.vjps, strict=True):
            arrived[parent] = vjp(g)
