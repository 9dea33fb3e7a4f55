"""Multiplies by the scale in float16, which cannot hold it.

expects: makes every gradient infinite or NaN
points: 9
"""


# %% half_gradients
def half_gradients(params, x, y, scale):
    x16, w16, b16 = (a.astype(np.float16) for a in (x, params["w"], params["b"]))
    error = (x16 @ w16 + b16).astype(np.float32) - y
    v = (2 * error / error.size).astype(np.float16) * np.float16(scale)
    return np.mean(error**2), {"w": x16.T @ v, "b": v.sum(axis=0)}
