"""Takes the mean of the squares in float16.

expects: their squares do not fit float16, so take them in float32
points: 9.5
"""


# %% half_gradients
def half_gradients(params, x, y, scale):
    x16, w16, b16 = (a.astype(np.float16) for a in (x, params["w"], params["b"]))
    error = (x16 @ w16 + b16).astype(np.float32) - y
    v = (np.float32(2 * scale / error.size) * error).astype(np.float16)
    return np.mean(error.astype(np.float16) ** 2), {"w": x16.T @ v, "b": v.sum(axis=0)}
