"""Steps along the scaled gradient.

expects: by the scaled gradient: undo the scale first
points: 7.75
"""


# %% step
def step(params, state, x, y, lr, max_norm, interval):
    _, grads = half_gradients(params, x, y, state["scale"])
    grads, finite = unscale(grads, 1.0)
    if finite:
        clipped = clip(grads, max_norm)
        params = {name: p - np.float32(lr) * clipped[name] for name, p in params.items()}
    scale, good = update_scale(state["scale"], state["good"], finite, interval)
    return params, {"scale": scale, "good": good}
