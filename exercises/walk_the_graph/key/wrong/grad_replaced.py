"""Replaces the .grad that is there.

expects: the .grad that a leaf had before is lost
points: 9.5
"""


# %% backward
def backward(result, g):
    arrived = {result: g}
    for value in users_first(result):
        g = arrived.pop(value)
        if not value.parents:
            value.grad = g.copy()
        for parent, vjp in zip(value.parents, value.vjps, strict=True):
            share = vjp(g)
            arrived[parent] = arrived[parent] + share if parent in arrived else share
