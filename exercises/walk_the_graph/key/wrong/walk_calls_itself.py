"""Counts users rightly, but walks by calling itself.

expects: `backward` calls itself
points: 9.5
"""


# %% backward
def backward(result, g):
    uses = {}
    for value in users_first(result):
        for parent in value.parents:
            uses[parent] = uses.get(parent, 0) + 1
    arrived = {result: g}

    def pass_on(value):
        g = arrived.pop(value)
        if not value.parents:
            value.grad = g.copy() if value.grad is None else value.grad + g
        for parent, vjp in zip(value.parents, value.vjps, strict=True):
            share = vjp(g)
            arrived[parent] = arrived[parent] + share if parent in arrived else share
            uses[parent] -= 1
            if uses[parent] == 0:
                pass_on(parent)

    pass_on(result)
