"""Multiplies by the second weight without transposing it, which only fits where the two widths are equal.

expects: `backward` raised ValueError in its line `g = (g @ params
points: 4
"""


# %% backward
def backward(cache):
    params, grads = cache["params"], {}
    g = loss_backward(cache["logits"], cache["y"])
    grads["w3"], grads["b3"] = cache["h2"].T @ g, g.sum(axis=0)
    g = (g @ params["w3"].T) * (cache["z2"] > 0)
    grads["w2"], grads["b2"] = cache["h1"].T @ g, g.sum(axis=0)
    g = (g @ params["w2"]) * (cache["z1"] > 0)
    grads["w1"], grads["b1"] = cache["x"].T @ g, g.sum(axis=0)
    return grads
