"""Masks by the sign of the gradient that comes back, not by the sign of what went into the ReLU.

expects: the gradient of w2 disagrees with finite differences
points: 7
"""

import numpy as np


# %% backward
def backward(cache):
    params, grads = cache["params"], {}
    g = loss_backward(cache["logits"], cache["y"])
    grads["w3"], grads["b3"] = cache["h2"].T @ g, g.sum(axis=0)
    g = np.maximum(g @ params["w3"].T, 0)
    grads["w2"], grads["b2"] = cache["h1"].T @ g, g.sum(axis=0)
    g = np.maximum(g @ params["w2"].T, 0)
    grads["w1"], grads["b1"] = cache["x"].T @ g, g.sum(axis=0)
    return grads
