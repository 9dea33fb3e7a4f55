"""Collects pieces for a step, and keeps them for the next.

expects: takes the pieces of earlier groups again
points: 7
"""


# %% train
def train(params, pieces, rate, every):
    group = []
    for i, piece in enumerate(pieces):
        group.append(piece)
        if (i + 1) % every == 0 or i + 1 == len(pieces):
            _, grads = accumulate(params, group)
            params = {name: array - rate * grads[name] for name, array in params.items()}
    return params
