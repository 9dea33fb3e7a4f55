"""Looks the vjp up by the parent, and so finds that of the first use for both.

expects: each of the two uses has a vjp of its own
points: 8
"""


# %% backward
def backward(result, g):
    arrived = {result: g}
    for value in users_first(result):
        g = arrived.pop(value)
        if not value.parents:
            value.grad = g.copy() if value.grad is None else value.grad + g
        for parent in value.parents:
            share = value.vjps[value.parents.index(parent)](g)
            arrived[parent] = arrived[parent] + share if parent in arrived else share
