"""Lines the shapes up at their first axes.

expects: adds up over other axes than it should
points: 8.5
"""


# %% summed_to
def summed_to(g, shape):
    axes = [i for i in range(g.ndim) if i >= len(shape) or shape[i] != g.shape[i]]
    return g.sum(axis=tuple(axes)).reshape(shape)
