"""Sums over axes put in front alone.

expects: to a parent of shape (1, 3), `summed_to` returns the shape (4, 3)
points: 9
"""


# %% summed_to
def summed_to(g, shape):
    return g.sum(axis=tuple(range(g.ndim - len(shape))))
