"""Takes the mean of v over the rows as the gradient of b.

expects: is averaged over the rows
points: 9
"""


# %% half_gradients
def half_gradients(params, x, y, scale):
    x16, w16, b16 = (a.astype(np.float16) for a in (x, params["w"], params["b"]))
    error = (x16 @ w16 + b16).astype(np.float32) - y
    v = (np.float32(2 * scale / error.size) * error).astype(np.float16)
    return np.mean(error**2), {"w": x16.T @ v, "b": v.mean(axis=0)}
