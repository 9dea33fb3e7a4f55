"""Runs the segment from its checkpoint again for each of its layers.

expects: runs layers more than once again
points: 8.5
"""


# %% backward
def backward(layers, kept, v):
    grads = [None] * len(layers)
    for i in reversed(range(len(layers))):
        start = max(kept)
        h = kept[start]
        for layer in layers[start:i]:
            h = layer.forward(h)
        v, grads[i] = layers[i].backward(h, v)
        if i == start:
            del kept[start], h
    return v, grads
