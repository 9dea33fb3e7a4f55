"""Steps after the first piece, and one early ever after.

expects: it must come when its group is full
points: 7
"""


# %% train
def train(params, pieces, rate, every):
    group = []
    for i, piece in enumerate(pieces):
        group.append(piece)
        if i % every == 0:
            _, grads = accumulate(params, group)
            params = {name: array - rate * grads[name] for name, array in params.items()}
            group = []
    return params
