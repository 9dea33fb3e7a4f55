"""Keeps the input of every layer.

expects: keeps the input of every layer, whatever `keep` says
points: 9
"""


# %% forward
def forward(layers, x, keep):
    kept, h = {}, x
    for i, layer in enumerate(layers):
        kept[i] = h
        h = layer.forward(h)
    return h, kept
