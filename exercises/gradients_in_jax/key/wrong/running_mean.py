"""Keeps a running mean, which is 0 / 0 if the first micro-batch is empty.

expects: returns nan where a micro-batch has no row that counts
points: 9.5
"""

import jax
import jax.numpy as jnp


# %% accumulate
def accumulate(loss_fn, params, batches):
    with_gradient = jax.value_and_grad(loss_fn, has_aux=True)

    def add(means, batch):
        loss_mean, grad_mean, rows = means
        (loss, n), grads = with_gradient(params, batch)
        share = n / (rows + n)
        grad_mean = jax.tree.map(lambda mean, g: mean + share * (g - mean), grad_mean, grads)
        return (loss_mean + share * (loss - loss_mean), grad_mean, rows + n), None

    start = 0.0, jax.tree.map(jnp.zeros_like, params), 0.0
    (loss, grads, _), _ = jax.lax.scan(add, start, batches)
    return loss, grads
