"""Keeps what comes out of the layers in keep.

expects: keeps what comes out of the layers in `keep`
points: 9.5
"""


# %% forward
def forward(layers, x, keep):
    kept, h = {0: x}, x
    for i, layer in enumerate(layers):
        h = layer.forward(h)
        if i in keep and i:
            kept[i] = h
    return h, kept
