"""Multiplies by what went into the ReLU, where what came out of it belongs.

expects: multiplies by a z of the cache
points: 7
"""


# %% backward
def backward(cache):
    params, grads = cache["params"], {}
    g = loss_backward(cache["logits"], cache["y"])
    grads["w3"], grads["b3"] = cache["z2"].T @ g, g.sum(axis=0)
    g = (g @ params["w3"].T) * (cache["z2"] > 0)
    grads["w2"], grads["b2"] = cache["z1"].T @ g, g.sum(axis=0)
    g = (g @ params["w2"].T) * (cache["z1"] > 0)
    grads["w1"], grads["b1"] = cache["x"].T @ g, g.sum(axis=0)
    return grads
