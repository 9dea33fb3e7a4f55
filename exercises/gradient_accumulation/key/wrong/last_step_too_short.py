"""Divides by `every`, also where fewer pieces are left.

expects: the last step is too short
points: 9
"""


# %% train
def train(params, pieces, rate, every):
    for i in range(0, len(pieces), every):
        tensors = leaves(params)
        for x, y in pieces[i : i + every]:
            (mean_loss(tensors, x, y) / every).backward()
        params = {name: array - rate * tensors[name].grad.numpy() for name, array in params.items()}
    return params
