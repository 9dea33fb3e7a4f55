"""Keeps every third input.

expects: keeps every third input
points: 9.5
"""


# %% forward
def forward(layers, x, keep):
    kept, h = {}, x
    for i, layer in enumerate(layers):
        if i % 3 == 0:
            kept[i] = h
        h = layer.forward(h)
    return h, kept
