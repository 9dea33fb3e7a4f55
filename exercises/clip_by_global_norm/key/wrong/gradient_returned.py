"""Returns the clipped gradient for the new parameters.

expects: returns the clipped gradient
points: 8.5
"""


# %% step
def step(params, micro_grads, loss_scale, max_norm, lr):
    grads = {n: sum(g[n] for g in micro_grads) / (loss_scale * len(micro_grads)) for n in params}
    return clip(grads, max_norm)[0]
