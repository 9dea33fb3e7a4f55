"""Differentiates the layers by formulas of its own.

expects: runs no layer's own `backward`
points: 3.5
"""

import numpy as np


# %% backward
def backward(layers, kept, v):
    inputs = [kept[0]]
    for layer in layers[:-1]:
        inputs.append(np.sin(inputs[-1]) @ layer.w)
    grads = []
    for layer, h in zip(layers[::-1], inputs[::-1], strict=True):
        grads.insert(0, np.sin(h).T @ v)
        v = v @ layer.w.T * np.cos(h)
    return v, grads
