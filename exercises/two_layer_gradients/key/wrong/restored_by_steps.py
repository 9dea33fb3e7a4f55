"""Steps back to where it was, which rounds.

expects: put the exact old value back
points: 9
"""


# %% slope
def slope(x, y, params, name, index, eps=1e-5):
    params[name][index] += eps
    up = forward(x, y, params)[0]
    params[name][index] -= 2 * eps
    down = forward(x, y, params)[0]
    params[name][index] += eps
    return (up - down) / (2 * eps)
