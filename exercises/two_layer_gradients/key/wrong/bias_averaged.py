"""Averages the gradient of each bias over the batch, although the loss has done so already.

expects: 6 times too small for 6 examples
points: 7
"""


# %% backward
def backward(cache):
    params, grads = cache["params"], {}
    g = loss_backward(cache["logits"], cache["y"])
    grads["w3"], grads["b3"] = cache["h2"].T @ g, g.mean(axis=0)
    g = (g @ params["w3"].T) * (cache["z2"] > 0)
    grads["w2"], grads["b2"] = cache["h1"].T @ g, g.mean(axis=0)
    g = (g @ params["w2"].T) * (cache["z1"] > 0)
    grads["w1"], grads["b1"] = cache["x"].T @ g, g.mean(axis=0)
    return grads
