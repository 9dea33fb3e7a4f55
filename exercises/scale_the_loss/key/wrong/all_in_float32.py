"""Computes everything in float32.

expects: the products of the backward pass are float16
points: 7
"""


# %% half_gradients
def half_gradients(params, x, y, scale):
    error = x @ params["w"] + params["b"] - y
    v = np.float32(2 * scale / error.size) * error
    return np.mean(error**2), {"w": x.T @ v, "b": v.sum(axis=0)}
