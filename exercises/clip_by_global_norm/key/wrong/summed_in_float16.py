"""Adds the micro-gradients up in the dtype they come in.

expects: for micro-gradients in float16, `step` raised ValueError
points: 8.5
"""


# %% step
def step(params, micro_grads, loss_scale, max_norm, lr):
    mean = {n: sum(g[n] for g in micro_grads) / (len(micro_grads) * loss_scale) for n in params}
    clipped, _ = clip(mean, max_norm)
    return {n: p - lr * clipped[n] for n, p in params.items()}
