"""Averages the gradients of a group, whatever its pieces count.

expects: they must count as in `accumulate`
points: 7
"""


# %% train
def train(params, pieces, rate, every):
    for i in range(0, len(pieces), every):
        group = [whole(params, x, y)[1] for x, y in pieces[i : i + every]]
        params = {
            name: array - rate * sum(grads[name] for grads in group) / len(group) for name, array in params.items()
        }
    return params
