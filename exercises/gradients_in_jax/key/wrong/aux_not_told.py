"""Does not say that the loss function returns a pair.

expects: say has_aux=True
points: 7.5
"""

import jax


# %% gradients
def gradients(loss_fn, params, x, y):
    (loss, aux), (dparams, dx) = jax.value_and_grad(loss_fn, argnums=(0, 1))(params, x, y)
    return loss, aux, dparams, dx
