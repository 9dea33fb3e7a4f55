"""Returns the scaled loss.

expects: the loss that `half_gradients` returns is scaled
points: 8.5
"""


# %% half_gradients
def half_gradients(params, x, y, scale):
    x16, w16, b16 = (a.astype(np.float16) for a in (x, params["w"], params["b"]))
    error = (x16 @ w16 + b16).astype(np.float32) - y
    v = (np.float32(2 * scale / error.size) * error).astype(np.float16)
    return scale * np.mean(error**2), {"w": x16.T @ v, "b": v.sum(axis=0)}
