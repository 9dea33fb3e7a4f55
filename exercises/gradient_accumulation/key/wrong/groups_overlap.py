"""Goes one piece too far in each group.

expects: each group takes the first piece of the next one
points: 7
"""


# %% train
def train(params, pieces, rate, every):
    for i in range(0, len(pieces), every):
        _, grads = accumulate(params, pieces[i : i + every + 1])
        params = {name: array - rate * grads[name] for name, array in params.items()}
    return params
