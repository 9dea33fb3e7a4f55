"""Writes into the parameters that it is given.

expects: changes the parameters that it was given
points: 9.5
"""


# %% step
def step(params, state, x, y, lr, max_norm, interval):
    _, grads = half_gradients(params, x, y, state["scale"])
    grads, finite = unscale(grads, state["scale"])
    if finite:
        clipped = clip(grads, max_norm)
        for name, p in params.items():
            p -= np.float32(lr) * clipped[name]
    scale, good = update_scale(state["scale"], state["good"], finite, interval)
    return params, {"scale": scale, "good": good}
