"""Lazy: maps over the micro-batches, so that all of them are in memory.

expects: runs all micro-batches at once, as vmap does
points: 7.5
"""

import jax
import jax.numpy as jnp


# %% accumulate
def accumulate(loss_fn, params, batches):
    (losses, n), grads = jax.vmap(jax.value_and_grad(loss_fn, has_aux=True), (None, 0))(params, batches)
    weights = n / n.sum()
    return weights @ losses, jax.tree.map(lambda g: jnp.tensordot(weights, g, 1), grads)
