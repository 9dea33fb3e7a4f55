"""Clips the scaled gradient, and undoes the scale then.

expects: clips before it undoes the scale
points: 9
"""


# %% step
def step(params, state, x, y, lr, max_norm, interval):
    _, grads = half_gradients(params, x, y, state["scale"])
    clipped = clip({name: g.astype(np.float32) for name, g in grads.items()}, max_norm)
    _, finite = unscale(grads, state["scale"])
    if finite:
        params = {name: p - np.float32(lr / state["scale"]) * clipped[name] for name, p in params.items()}
    scale, good = update_scale(state["scale"], state["good"], finite, interval)
    return params, {"scale": scale, "good": good}
