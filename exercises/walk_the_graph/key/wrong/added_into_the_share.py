"""Adds what has come to the new share, in place.

expects: both parents, one of which has a share already
points: 9.75
"""


# %% backward
def backward(result, g):
    arrived = {result: g}
    for value in users_first(result):
        g = arrived.pop(value)
        if not value.parents:
            value.grad = g.copy() if value.grad is None else value.grad + g
        for parent, vjp in zip(value.parents, value.vjps, strict=True):
            share = vjp(g)
            if parent in arrived:
                share += arrived[parent]
            arrived[parent] = share
