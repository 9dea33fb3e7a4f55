"""Asks for each gradient by itself, and for the loss as well.

expects: runs the loss 3 times: one value_and_grad
points: 9
"""

import jax


# %% gradients
def gradients(loss_fn, params, x, y):
    loss, aux = loss_fn(params, x, y)
    dparams, _ = jax.grad(loss_fn, has_aux=True)(params, x, y)
    dx, _ = jax.grad(loss_fn, argnums=1, has_aux=True)(params, x, y)
    return loss, aux, dparams, dx
