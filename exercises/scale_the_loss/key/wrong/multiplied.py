"""Multiplies by the scale.

expects: multiplies by the scale once more
points: 9
"""


# %% unscale
def unscale(grads, scale):
    wide = {name: g.astype(np.float32) * np.float32(scale) for name, g in grads.items()}
    return wide, all(bool(np.isfinite(g).all()) for g in grads.values())
