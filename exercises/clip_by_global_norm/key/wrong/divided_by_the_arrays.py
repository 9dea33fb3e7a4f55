"""Divides by the number of arrays instead of that of micro-batches.

expects: divides by the number of arrays
points: 9.5
"""


# %% step
def step(params, micro_grads, loss_scale, max_norm, lr):
    mean = {n: sum(g[n].astype(float) for g in micro_grads) / len(params) / loss_scale for n in params}
    clipped, _ = clip(mean, max_norm)
    return {n: p - lr * clipped[n] for n, p in params.items()}
