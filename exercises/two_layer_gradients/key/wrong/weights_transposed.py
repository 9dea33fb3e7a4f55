"""Multiplies in the other order, so that the gradient of each weight comes out transposed.

expects: is transposed
points: 7
"""


# %% backward
def backward(cache):
    params, grads = cache["params"], {}
    g = loss_backward(cache["logits"], cache["y"])
    grads["w3"], grads["b3"] = g.T @ cache["h2"], g.sum(axis=0)
    g = (g @ params["w3"].T) * (cache["z2"] > 0)
    grads["w2"], grads["b2"] = g.T @ cache["h1"], g.sum(axis=0)
    g = (g @ params["w2"].T) * (cache["z1"] > 0)
    grads["w1"], grads["b1"] = g.T @ cache["x"], g.sum(axis=0)
    return grads
