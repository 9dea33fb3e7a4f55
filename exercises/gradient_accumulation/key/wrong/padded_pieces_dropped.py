"""Leaves out every piece with padding in it.

expects: are left out whole
points: 7.5
"""


# %% accumulate_padded
def accumulate_padded(params, pieces):
    pieces = [(x, y) for x, y in pieces if (y != -1).all()]
    return accumulate(params, pieces)
