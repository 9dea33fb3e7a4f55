"""Divides in float32, and goes back to float16.

expects: `unscale` loses small gradients
points: 9
"""


# %% unscale
def unscale(grads, scale):
    narrow = {name: (g / np.float32(scale)).astype(np.float16) for name, g in grads.items()}
    return narrow, all(bool(np.isfinite(g).all()) for g in narrow.values())
