"""Rounds the weights to float16 after each step.

expects: eight small steps leave every weight where it was
points: 8.75
"""


# %% step
def step(params, state, x, y, lr, max_norm, interval):
    _, grads = half_gradients(params, x, y, state["scale"])
    grads, finite = unscale(grads, state["scale"])
    if finite:
        clipped = clip(grads, max_norm)
        params = {name: p - np.float32(lr) * clipped[name] for name, p in params.items()}
        params = {name: p.astype(np.float16).astype(np.float32) for name, p in params.items()}
    scale, good = update_scale(state["scale"], state["good"], finite, interval)
    return params, {"scale": scale, "good": good}
