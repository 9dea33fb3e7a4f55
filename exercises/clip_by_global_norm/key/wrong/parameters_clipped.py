"""Clips the new parameters.

expects: clips the new parameters
points: 9
"""


# %% step
def step(params, micro_grads, loss_scale, max_norm, lr):
    grads = {name: sum(g[name].astype(float) for g in micro_grads) / (len(micro_grads) * loss_scale) for name in params}
    new = {name: params[name] - lr * grads[name] for name in params}
    return clip(new, max_norm)[0]
