"""Returns the gradient of the input before that of the parameters.

expects: returns dx before dparams
points: 9.75
"""

import jax


# %% gradients
def gradients(loss_fn, params, x, y):
    (loss, aux), (dparams, dx) = jax.value_and_grad(loss_fn, argnums=(0, 1), has_aux=True)(params, x, y)
    return loss, aux, dx, dparams
