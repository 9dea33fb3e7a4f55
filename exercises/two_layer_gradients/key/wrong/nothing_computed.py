"""Computes nothing: constants, zeros and what it was given, in the shapes asked for.

expects: so `slope` has nothing to measure
points: 0
"""

import numpy as np


# %% forward
def forward(x, y, params):
    return 0.0, {"x": x}


# %% slope
def slope(x, y, params, name, index, eps=1e-5):
    return 0.0


# %% loss_backward
def loss_backward(logits, y):
    return logits


# %% backward
def backward(cache):
    grads = {name: np.zeros_like(array) for name, array in cache["params"].items()}
    grads["w3"] = grads["w3"] + cache["x"].sum()
    return grads
