"""Takes both things that clip returns for the gradients.

expects: treats all that `clip` returns
points: 8
"""


# %% step
def step(params, micro_grads, loss_scale, max_norm, lr):
    grads = {name: sum(g[name] for g in micro_grads) / (len(micro_grads) * loss_scale) for name in params}
    clipped = clip(grads, max_norm)
    return {name: params[name] - lr * clipped[name] for name in params}
