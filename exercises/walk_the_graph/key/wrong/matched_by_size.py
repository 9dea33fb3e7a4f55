"""Tells the axes put in front by their sizes: those that the parent does not have.

expects: goes by sizes, which happen to be equal
points: 9.5
"""


# %% summed_to
def summed_to(g, shape):
    axis = 0
    while g.ndim > len(shape):
        if axis == g.ndim:
            g = g.sum(axis=0)
        elif g.shape[axis] in shape:
            axis += 1
        else:
            g = g.sum(axis=axis)
    stretched = tuple(i for i, size in enumerate(shape) if size == 1)
    return g.sum(axis=stretched, keepdims=True)
