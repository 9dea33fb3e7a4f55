"""Sums the gradient of a bias over the batch, and keeps the axis.

expects: it is summed, but an axis of length 1 is left: drop keepdims
points: 7
"""


# %% backward
def backward(cache):
    params, grads = cache["params"], {}
    g = loss_backward(cache["logits"], cache["y"])
    grads["w3"], grads["b3"] = cache["h2"].T @ g, g.sum(axis=0, keepdims=True)
    g = (g @ params["w3"].T) * (cache["z2"] > 0)
    grads["w2"], grads["b2"] = cache["h1"].T @ g, g.sum(axis=0, keepdims=True)
    g = (g @ params["w2"].T) * (cache["z1"] > 0)
    grads["w1"], grads["b1"] = cache["x"].T @ g, g.sum(axis=0, keepdims=True)
    return grads
