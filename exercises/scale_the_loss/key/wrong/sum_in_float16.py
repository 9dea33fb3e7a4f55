"""Asks whether the sum is finite, in float16.

expects: takes large gradients for infinite ones
points: 9.5
"""


# %% unscale
def unscale(grads, scale):
    wide = {name: g.astype(np.float32) / np.float32(scale) for name, g in grads.items()}
    return wide, all(bool(np.isfinite(g.sum())) for g in grads.values())
