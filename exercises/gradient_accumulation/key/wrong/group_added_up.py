"""Adds the gradients of a group up.

expects: added up: the step must be that of their mean
points: 7
"""


# %% train
def train(params, pieces, rate, every):
    for i in range(0, len(pieces), every):
        grads = [whole(params, x, y)[1] for x, y in pieces[i : i + every]]
        params = {n: a - rate * sum(g[n] for g in grads) for n, a in params.items()}
    return params
