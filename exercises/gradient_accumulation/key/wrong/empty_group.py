"""Takes a last step also where no piece is left for it.

expects: as in a group without pieces
points: 7.5
"""


# %% train
def train(params, pieces, rate, every):
    for i in range(0, len(pieces) + 1, every):
        _, grads = accumulate(params, pieces[i : i + every])
        params = {name: array - rate * grads[name] for name, array in params.items()}
    return params
