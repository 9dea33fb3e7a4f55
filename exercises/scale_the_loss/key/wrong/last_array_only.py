"""Looks at the last array alone.

expects: in the first array
points: 8.5
"""


# %% unscale
def unscale(grads, scale):
    wide = {name: g.astype(np.float32) / np.float32(scale) for name, g in grads.items()}
    return wide, bool(np.isfinite(wide["b"]).all())
