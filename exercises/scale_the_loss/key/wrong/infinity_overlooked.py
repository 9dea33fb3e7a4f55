"""Looks for NaN alone.

expects: that hold infinity in
points: 8.5
"""


# %% unscale
def unscale(grads, scale):
    wide = {name: g.astype(np.float32) / np.float32(scale) for name, g in grads.items()}
    return wide, not any(bool(np.isnan(g).any()) for g in wide.values())
