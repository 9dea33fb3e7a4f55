"""Multiplies by the result of the ReLU, where its slope belongs.

expects: is multiplied by a ReLU's result
points: 8
"""


# %% backward
def backward(cache):
    params, grads = cache["params"], {}
    g = loss_backward(cache["logits"], cache["y"])
    grads["w3"], grads["b3"] = cache["h2"].T @ g, g.sum(axis=0)
    g = (g @ params["w3"].T) * cache["h2"]
    grads["w2"], grads["b2"] = cache["h1"].T @ g, g.sum(axis=0)
    g = (g @ params["w2"].T) * cache["h1"]
    grads["w1"], grads["b1"] = cache["x"].T @ g, g.sum(axis=0)
    return grads
