"""Goes on from a value at once, and never comes back to it.

expects: used early and late, a gradient is wrong
points: 7.5
"""


# %% backward
def backward(result, g):
    arrived, todo, done = {result: g}, [result], set()
    while todo:
        value = todo.pop()
        if value in done:
            continue
        done.add(value)
        for parent, vjp in zip(value.parents, value.vjps, strict=True):
            share = vjp(arrived[value])
            arrived[parent] = arrived[parent] + share if parent in arrived else share
            todo.append(parent)
    for value, g in arrived.items():
        if not value.parents:
            value.grad = g.copy() if value.grad is None else value.grad + g
