"""Forgets to clip.

expects: `step` does not clip
points: 9
"""


# %% step
def step(params, micro_grads, loss_scale, max_norm, lr):
    grads = {name: sum(g[name].astype(float) for g in micro_grads) / (len(micro_grads) * loss_scale) for name in params}
    return {name: params[name] - lr * grads[name] for name in params}
