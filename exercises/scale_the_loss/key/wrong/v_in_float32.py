"""Leaves v in float32 until the products are made.

expects: v is rounded to float16 before the products
points: 9.5
"""

import numpy as np


# %% half_gradients
def half_gradients(params, x, y, scale):
    x16, w16, b16 = (np.asarray(a).astype(np.float16) for a in (x, params["w"], params["b"]))
    error = (x16 @ w16 + b16).astype(np.float32) - y
    v = np.float32(2 * scale / error.size) * error
    grads = {"w": (x16.astype(np.float32).T @ v).astype(np.float16), "b": v.sum(axis=0).astype(np.float16)}
    return np.mean(error**2), grads
