"""Takes exp of the logits as they are, which overflows for large ones.

expects: no finite loss for large logits
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
    losses = np.log(np.exp(logits).sum(axis=1)) - logits[np.arange(len(y)), y]
    cache = {"x": x, "y": y, "z1": z1, "h1": h1, "z2": z2, "h2": h2, "logits": logits, "params": params}
    return losses.mean(), cache
