"""Updates the scale first, and undoes the new one.

expects: the step that doubles the scale is half as long
points: 9
"""

import numpy as np


# %% step
def step(params, state, x, y, lr, max_norm, interval):
    _, grads = half_gradients(params, x, y, state["scale"])
    finite = all(bool(np.isfinite(g).all()) for g in grads.values())
    scale, good = update_scale(state["scale"], state["good"], finite, interval)
    if finite:
        clipped = clip(unscale(grads, scale)[0], max_norm)
        params = {name: p - np.float32(lr) * clipped[name] for name, p in params.items()}
    return params, {"scale": scale, "good": good}
