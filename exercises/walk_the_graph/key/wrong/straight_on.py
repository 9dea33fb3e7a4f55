"""Passes each share straight on, along every path.

expects: a vjp is called more than once in a walk
points: 9.5
"""


# %% backward
def backward(result, g):
    todo = [(result, g)]
    while todo:
        value, g = todo.pop()
        if not value.parents:
            value.grad = g.copy() if value.grad is None else value.grad + g
        todo.extend((parent, vjp(g)) for parent, vjp in zip(value.parents, value.vjps, strict=True))
