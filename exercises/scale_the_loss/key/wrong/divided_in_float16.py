"""Divides in float16, and widens what is left.

expects: every gradient 0: a scale of 65536 is infinite in float16
points: 9
"""


# %% unscale
def unscale(grads, scale):
    wide = {name: (g / np.float16(scale)).astype(np.float32) for name, g in grads.items()}
    return wide, all(bool(np.isfinite(g).all()) for g in grads.values())
