"""Returns the tuple of both gradients as that of the input.

expects: dx must be one array
points: 9.25
"""

import jax


# %% gradients
def gradients(loss_fn, params, x, y):
    (loss, aux), both = jax.value_and_grad(loss_fn, argnums=(0, 1), has_aux=True)(params, x, y)
    return loss, aux, both[0], both
