"""Deals the pieces out, one to each group in turn.

expects: dealt out like cards
points: 7
"""


# %% train
def train(params, pieces, rate, every):
    for i in range(every):
        group = pieces[i::every]
        _, grads = accumulate(params, group)
        params = {name: a - rate * grads[name] for name, a in params.items()}
    return params
