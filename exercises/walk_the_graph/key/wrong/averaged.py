"""Takes the mean over the copies.

expects: takes the mean
points: 8
"""


# %% summed_to
def summed_to(g, shape):
    extra = g.ndim - len(shape)
    stretched = (extra + i for i, size in enumerate(shape) if size == 1)
    return g.mean(axis=(*range(extra), *stretched)).reshape(shape)
