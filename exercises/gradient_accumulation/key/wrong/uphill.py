"""Adds the gradient.

expects: the steps go uphill
points: 7
"""


# %% train
def train(params, pieces, rate, every):
    for i in range(0, len(pieces), every):
        _, grads = accumulate(params, pieces[i : i + every])
        params = {name: a + rate * grads[name] for name, a in params.items()}
    return params
