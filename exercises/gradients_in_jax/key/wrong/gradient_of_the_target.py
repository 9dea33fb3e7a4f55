"""Takes the gradient of the target in place of that of the input.

expects: dx has the shape of y
points: 9.25
"""

import jax


# %% gradients
def gradients(loss_fn, params, x, y):
    (loss, aux), (dparams, dx) = jax.value_and_grad(loss_fn, argnums=(0, 2), has_aux=True)(params, x, y)
    return loss, aux, dparams, dx
