"""Divides the bound by the scale as well.

expects: in the right direction, but it is too short
points: 8.5
"""


# %% step
def step(params, micro_grads, loss_scale, max_norm, lr):
    grads = {n: sum(g[n] for g in micro_grads) / len(micro_grads) for n in params}
    c, _ = clip(grads, max_norm / loss_scale)
    return {n: params[n] - lr * c[n] / loss_scale for n in params}
