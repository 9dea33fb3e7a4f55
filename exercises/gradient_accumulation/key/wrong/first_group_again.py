"""Takes the first group for every step.

expects: every step takes the first group again
points: 7
"""


# %% train
def train(params, pieces, rate, every):
    for _ in range(len(pieces) // every + 1):
        grads = accumulate(params, pieces[:every])[1]
        params = {name: array - rate * grads[name] for name, array in params.items()}
    return params
