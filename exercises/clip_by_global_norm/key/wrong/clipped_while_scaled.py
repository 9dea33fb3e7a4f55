"""Clips first, and undoes the scale afterwards.

expects: clips before the scale is undone
points: 8.5
"""


# %% step
def step(params, micro_grads, loss_scale, max_norm, lr):
    grads = {name: sum(g[name] for g in micro_grads) / len(micro_grads) for name in params}
    clipped, _ = clip(grads, max_norm)
    return {name: params[name] - lr * clipped[name] / loss_scale for name in params}
