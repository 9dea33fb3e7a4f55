"""Runs the whole network again from x, as if there were no other checkpoints.

expects: runs all layers again before it goes back
points: 5.5
"""


# %% backward
def backward(layers, kept, v):
    return plain(layers, kept[0], v)
