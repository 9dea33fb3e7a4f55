"""Moves the parameters in place.

expects: `step` changes arrays that it was given
points: 9.5
"""


# %% step
def step(params, micro_grads, loss_scale, max_norm, lr):
    grads = {name: sum(g[name].astype(float) for g in micro_grads) / (len(micro_grads) * loss_scale) for name in params}
    clipped, _ = clip(grads, max_norm)
    for name, p in params.items():
        p[...] -= lr * clipped[name]
    return params
