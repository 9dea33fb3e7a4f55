"""Returns after the first step.

expects: that of the first group: does the loop end too early, or return?
points: 7
"""


# %% train
def train(params, pieces, rate, every):
    for i in range(0, len(pieces), every):
        _, grads = accumulate(params, pieces[i : i + every])
        return {name: array - rate * grads[name] for name, array in params.items()}
    return params
