"""Drops the axes that were stretched.

expects: an axis that was stretched from 1 stays
points: 9
"""


# %% summed_to
def summed_to(g, shape):
    g = g.sum(axis=tuple(range(g.ndim - len(shape))))
    return g.sum(axis=tuple(i for i, size in enumerate(shape) if size == 1 and g.shape[i] > 1))
