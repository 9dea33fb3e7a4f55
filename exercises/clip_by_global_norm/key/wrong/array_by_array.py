"""Hands the arrays to clip one by one.

expects: clips each array by itself: all of them have one norm
points: 9
"""


# %% step
def step(params, micro_grads, loss_scale, max_norm, lr):
    new = {}
    for name in params:
        g = sum(one[name].astype(float) for one in micro_grads) / (len(micro_grads) * loss_scale)
        clipped, _ = clip({name: g}, max_norm)
        new[name] = params[name] - lr * clipped[name]
    return new
