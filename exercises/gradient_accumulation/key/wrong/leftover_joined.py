"""Adds the pieces that are left over to the last full group.

expects: join the last full group
points: 9
"""


# %% train
def train(params, pieces, rate, every):
    n = len(pieces) // every
    for i in range(n):
        stop = (i + 1) * every if i < n - 1 else len(pieces)
        _, grads = accumulate(params, pieces[i * every : stop])
        params = {name: a - rate * grads[name] for name, a in params.items()}
    return params
