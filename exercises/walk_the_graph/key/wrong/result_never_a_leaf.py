"""Overlooks that the result itself may be a leaf.

expects: where the result is itself a leaf, it has no .grad
points: 9.5
"""


# %% backward
def backward(result, g):
    arrived = {result: g}
    for value in users_first(result):
        for parent, vjp in zip(value.parents, value.vjps, strict=True):
            share = vjp(arrived[value])
            arrived[parent] = arrived[parent] + share if parent in arrived else share
    for value, g in arrived.items():
        if not value.parents and value is not result:
            value.grad = g.copy() if value.grad is None else value.grad + g
