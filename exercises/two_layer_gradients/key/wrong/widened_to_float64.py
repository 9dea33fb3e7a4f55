"""Adds the gradients into arrays made by np.zeros, which are float64 whatever comes in.

expects: something in `backward` widens it
points: 9.5
"""

import numpy as np


# %% backward
def backward(cache):
    params = cache["params"]
    grads = {name: np.zeros(array.shape) for name, array in params.items()}
    g = loss_backward(cache["logits"], cache["y"])
    for layer, below in ((3, "h2"), (2, "h1"), (1, "x")):
        grads[f"w{layer}"] += cache[below].T @ g
        grads[f"b{layer}"] += g.sum(axis=0)
        if layer > 1:
            g = (g @ params[f"w{layer}"].T) * (cache[f"z{layer - 1}"] > 0)
    return grads
