"""Moves by the first piece of each group.

expects: uses the first piece of its group alone
points: 7
"""


# %% train
def train(params, pieces, rate, every):
    for i in range(0, len(pieces), every):
        moved = []
        for x, y in pieces[i : i + every]:
            _, grads = whole(params, x, y)
            moved.append({name: a - rate * grads[name] for name, a in params.items()})
        params = {name: moved[0][name] for name in params}
    return params
