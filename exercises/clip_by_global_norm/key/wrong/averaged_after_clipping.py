"""Divides by the number of micro-batches after clipping.

expects: what is clipped must be the mean
points: 9
"""


# %% step
def step(params, micro_grads, loss_scale, max_norm, lr):
    grads = {n: sum(g[n].astype(float) for g in micro_grads) / loss_scale for n in params}
    c, _ = clip(grads, max_norm)
    return {n: params[n] - lr * c[n] / len(micro_grads) for n in params}
