"""Leaves the cotangents on the values, so that the next walk adds to them.

expects: does not bring what the first did
points: 9.5
"""


# %% backward
def backward(result, g):
    result.bar = g
    for value in users_first(result):
        if not value.parents:
            value.grad = value.bar.copy() if value.grad is None else value.grad + value.bar
        for parent, vjp in zip(value.parents, value.vjps, strict=True):
            share = vjp(value.bar)
            parent.bar = parent.bar + share if hasattr(parent, "bar") else share
