"""Steps by half of eps.

expects: steps by half of eps
points: 9
"""


# %% slope
def slope(x, y, params, name, index, eps=1e-5):
    def at(s):
        m = {k: v.copy() for k, v in params.items()}
        m[name][index] += s
        return forward(x, y, m)[0]

    return (at(eps / 2) - at(-eps / 2)) / eps
