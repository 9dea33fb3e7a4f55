"""Calls everything finite.

expects: `unscale` calls infinite gradients finite
points: 8.5
"""


# %% unscale
def unscale(grads, scale):
    wide = {name: g.astype(np.float32) / np.float32(scale) for name, g in grads.items()}
    return wide, True
