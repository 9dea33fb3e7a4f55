"""Steps to both sides in place and leaves the parameter where the second step put it.

expects: `slope` left params changed
points: 9
"""


# %% slope
def slope(x, y, params, name, index, eps=1e-5):
    params[name][index] += eps
    above = forward(x, y, params)[0]
    params[name][index] -= 2 * eps
    below = forward(x, y, params)[0]
    return (above - below) / (2 * eps)
