"""Steps only when a group is full.

expects: the pieces that are left over at the end are dropped
points: 9
"""


# %% train
def train(params, pieces, rate, every):
    group = []
    for piece in pieces:
        group.append(piece)
        if len(group) == every:
            _, grads = accumulate(params, group)
            params = {name: array - rate * grads[name] for name, array in params.items()}
            group = []
    return params
