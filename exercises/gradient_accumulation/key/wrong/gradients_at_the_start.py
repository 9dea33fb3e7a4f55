"""Computes all gradients before the first step.

expects: all steps use gradients at the first parameters
points: 7
"""


# %% train
def train(params, pieces, rate, every):
    steps = [accumulate(params, pieces[i : i + every])[1] for i in range(0, len(pieces), every)]
    return {name: array - rate * sum(grads[name] for grads in steps) for name, array in params.items()}
