"""Writes out the four steps of the page, for two layers.

expects: `backward` raised ValueError in its line `w_0, w_1 = weights`
points: 3.5
"""


# %% backward
def backward(out, stack, weights):
    w_0, w_1 = weights
    h = stack.pop()
    g_z = (out @ w_1.T) * (h > 0)
    x = stack.pop()
    return [x.T @ g_z, h.T @ out], g_z @ w_0.T
