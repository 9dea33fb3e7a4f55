"""Takes each step from the first parameters.

expects: each step starts at the first parameters
points: 7
"""


# %% train
def train(params, pieces, rate, every):
    for i in range(0, len(pieces), every):
        _, grads = accumulate(params, pieces[i : i + every])
        new = {name: a - rate * grads[name] for name, a in params.items()}
    return new
