"""Gives the leaf the array that arrived, which others may hold.

expects: shares its memory with the caller's `g`
points: 9.75
"""


# %% backward
def backward(result, g):
    arrived = {result: g}
    for value in users_first(result):
        g = arrived.pop(value)
        if not value.parents:
            value.grad = g if value.grad is None else value.grad + g
        for parent, vjp in zip(value.parents, value.vjps, strict=True):
            share = vjp(g)
            arrived[parent] = arrived[parent] + share if parent in arrived else share
