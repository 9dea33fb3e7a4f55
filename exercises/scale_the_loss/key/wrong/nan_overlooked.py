"""Looks for infinities alone.

expects: that hold NaN
points: 9
"""


# %% unscale
def unscale(grads, scale):
    wide = {name: g.astype(np.float32) / np.float32(scale) for name, g in grads.items()}
    return wide, not any(bool(np.isinf(g).any()) for g in wide.values())
