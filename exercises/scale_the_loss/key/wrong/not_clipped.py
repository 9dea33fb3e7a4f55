"""Does not clip.

expects: `step` does not clip
points: 9
"""


# %% step
def step(params, state, x, y, lr, max_norm, interval):
    _, grads = half_gradients(params, x, y, state["scale"])
    grads, finite = unscale(grads, state["scale"])
    if finite:
        params = {name: p - np.float32(lr) * grads[name] for name, p in params.items()}
    scale, good = update_scale(state["scale"], state["good"], finite, interval)
    return params, {"scale": scale, "good": good}
