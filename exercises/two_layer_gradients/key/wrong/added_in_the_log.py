"""Adds a small number inside of the logarithm.

expects: or added inside of the logarithm
points: 9
"""

import numpy as np


# %% forward
def forward(x, y, params):
    z1 = x @ params["w1"] + params["b1"]
    h1 = np.maximum(z1, 0)
    z2 = h1 @ params["w2"] + params["b2"]
    h2 = np.maximum(z2, 0)
    logits = h2 @ params["w3"] + params["b3"]
    e = np.exp(logits - logits.max(axis=1, keepdims=True))
    p = e / e.sum(axis=1, keepdims=True)
    loss = -np.log(p[np.arange(len(y)), y] + 1e-9).mean()
    cache = {"x": x, "y": y, "z1": z1, "h1": h1, "z2": z2, "h2": h2, "logits": logits, "params": params}
    return loss, cache
