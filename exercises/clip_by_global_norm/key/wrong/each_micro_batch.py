"""Clips the gradient of each micro-batch.

expects: clips each micro-batch: clip once
points: 9
"""


# %% step
def step(params, micro_grads, loss_scale, max_norm, lr):
    clipped = [clip({name: g / loss_scale for name, g in one.items()}, max_norm)[0] for one in micro_grads]
    return {name: params[name] - lr * sum(g[name] for g in clipped) / len(clipped) for name in params}
