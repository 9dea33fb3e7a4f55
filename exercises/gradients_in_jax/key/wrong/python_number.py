"""Turns the loss into a Python number, which tracing cannot do.

expects: under jit, `gradients` makes a Python number
points: 9.75
"""

import jax


# %% gradients
def gradients(loss_fn, params, x, y):
    (loss, aux), (dparams, dx) = jax.value_and_grad(loss_fn, argnums=(0, 1), has_aux=True)(params, x, y)
    return float(loss), aux, dparams, dx
