"""Adds the copies up in `g` itself.

expects: `summed_to` changes `g`
points: 8.5
"""


# %% summed_to
def summed_to(g, shape):
    while g.ndim > len(shape):
        for row in g[1:]:
            g[0] += row
        g = g[0]
    return g.sum(axis=tuple(i for i, size in enumerate(shape) if size == 1), keepdims=True)
