"""Puts 0 in the place of what is not finite, and takes the step.

expects: moves weights although gradients
points: 9.25
"""


# %% step
def step(params, state, x, y, lr, max_norm, interval):
    _, grads = half_gradients(params, x, y, state["scale"])
    grads, finite = unscale(grads, state["scale"])
    grads = {name: np.nan_to_num(g, posinf=0, neginf=0) for name, g in grads.items()}
    clipped = clip(grads, max_norm)
    params = {name: p - np.float32(lr) * clipped[name] for name, p in params.items()}
    scale, good = update_scale(state["scale"], state["good"], finite, interval)
    return params, {"scale": scale, "good": good}
