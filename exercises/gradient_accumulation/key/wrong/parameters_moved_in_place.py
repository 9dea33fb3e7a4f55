"""Updates the arrays it was given.

expects: `train` changed an array
points: 9.5
"""


# %% train
def train(params, pieces, rate, every):
    for i in range(0, len(pieces), every):
        _, grads = accumulate(params, pieces[i : i + every])
        for name, array in params.items():
            array -= rate * grads[name]
    return params
