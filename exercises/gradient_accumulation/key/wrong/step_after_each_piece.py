"""Steps after each piece.

expects: there is a step after each piece
points: 7
"""


# %% train
def train(params, pieces, rate, every):
    for piece in pieces:
        _, grads = accumulate(params, [piece])
        params = {name: array - rate * grads[name] for name, array in params.items()}
    return params
