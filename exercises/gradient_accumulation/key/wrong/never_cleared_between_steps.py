"""Lets the gradients of all groups add up.

expects: the gradients of earlier groups are still in
points: 7
"""


# %% train
def train(params, pieces, rate, every):
    total = dict.fromkeys(params, 0.0)
    for i in range(0, len(pieces), every):
        _, grads = accumulate(params, pieces[i : i + every])
        for name in params:
            total[name] = total[name] + grads[name]
        params = {name: array - rate * total[name] for name, array in params.items()}
    return params
