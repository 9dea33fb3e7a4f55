"""Uses the first micro-batch and no other.

expects: uses the first micro-batch alone
points: 8.5
"""


# %% step
def step(params, micro_grads, loss_scale, max_norm, lr):
    grads = {n: micro_grads[0][n] / loss_scale for n in params}
    c, _ = clip(grads, max_norm)
    return {n: params[n] - lr * c[n] for n in params}
