"""Copies the dict, whose arrays are then those of both copies.

expects: an array that two dicts share
points: 9
"""


# %% slope
def slope(x, y, params, name, index, eps=1e-5):
    above, below = params.copy(), params.copy()
    above[name][index] += eps
    below[name][index] -= eps
    return (forward(x, y, above)[0] - forward(x, y, below)[0]) / (2 * eps)
