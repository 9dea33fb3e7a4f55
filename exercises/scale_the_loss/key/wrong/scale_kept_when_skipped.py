"""Updates the scale only when the step is taken.

expects: leaves the scale as it was when it skips
points: 8.75
"""


# %% step
def step(params, state, x, y, lr, max_norm, interval):
    _, grads = half_gradients(params, x, y, state["scale"])
    grads, finite = unscale(grads, state["scale"])
    if not finite:
        return params, state
    clipped = clip(grads, max_norm)
    params = {name: p - np.float32(lr) * clipped[name] for name, p in params.items()}
    scale, good = update_scale(state["scale"], state["good"], finite, interval)
    return params, {"scale": scale, "good": good}
