"""Computes everything in float32, and rounds the gradients at the end.

expects: the weights go into the forward pass with more digits
points: 9
"""


# %% half_gradients
def half_gradients(params, x, y, scale):
    error = x @ params["w"] + params["b"] - y
    v = np.float32(2 * scale / error.size) * error
    return np.mean(error**2), {"w": (x.T @ v).astype(np.float16), "b": v.sum(axis=0).astype(np.float16)}
