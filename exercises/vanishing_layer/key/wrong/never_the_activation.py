"""Looks at the weights alone.

expects: blames the weights of a layer that is
points: 9
"""


# %% cause
def cause(layers, x, y, i):
    return "weights" if gains(layers, x, y)[i] < 0.1 else "activation"
