"""Multiplies by the learning rate before it clips.

expects: multiplied in before clipping
points: 9
"""


# %% step
def step(params, micro_grads, loss_scale, max_norm, lr):
    grads = {
        name: lr * sum(g[name].astype(float) for g in micro_grads) / (len(micro_grads) * loss_scale) for name in params
    }
    clipped, _ = clip(grads, max_norm)
    return {name: params[name] - clipped[name] for name in params}
