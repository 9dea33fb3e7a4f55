"""Turns z1 and z2 into masks in place, so that the cache is spoilt for whoever reads it next.

expects: `backward` changed `z1`
points: 9.5
"""


# %% backward
def backward(cache):
    params, grads = cache["params"], {}
    for name in ("z1", "z2"):
        cache[name][:] = cache[name] > 0
    g = loss_backward(cache["logits"], cache["y"])
    grads["w3"], grads["b3"] = cache["h2"].T @ g, g.sum(axis=0)
    g = (g @ params["w3"].T) * cache["z2"]
    grads["w2"], grads["b2"] = cache["h1"].T @ g, g.sum(axis=0)
    g = (g @ params["w2"].T) * cache["z1"]
    grads["w1"], grads["b1"] = cache["x"].T @ g, g.sum(axis=0)
    return grads
