"""Lets scan stack the gradients, and adds them up afterwards.

expects: hands over something large for each micro-batch (stacked gradients
points: 9
"""

import jax
import jax.numpy as jnp


# %% accumulate
def accumulate(loss_fn, params, batches):
    def one(_, batch):
        (loss, n), grads = jax.value_and_grad(loss_fn, has_aux=True)(params, batch)
        return None, (loss, n, grads)

    _, (losses, n, grads) = jax.lax.scan(one, None, batches)
    weights = n / n.sum()
    return weights @ losses, jax.tree.map(lambda g: jnp.tensordot(weights, g, 1), grads)
