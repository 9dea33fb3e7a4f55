"""Divides the learning rate by the number of pieces, although the gradient is their mean.

expects: their gradient is a mean already
points: 7
"""


# %% train
def train(params, pieces, rate, every):
    for i in range(0, len(pieces), every):
        _, grads = accumulate(params, pieces[i : i + every])
        params = {name: array - rate / every * grads[name] for name, array in params.items()}
    return params
