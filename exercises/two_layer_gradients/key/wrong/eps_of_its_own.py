"""Ignores the eps it was given.

expects: has an eps of its own
points: 9
"""


# %% slope
def slope(x, y, params, name, index, eps=1e-5):
    def at(s):
        m = {k: v.copy() for k, v in params.items()}
        m[name][index] += s
        return forward(x, y, m)[0]

    return (at(1e-5) - at(-1e-5)) / 2e-5
