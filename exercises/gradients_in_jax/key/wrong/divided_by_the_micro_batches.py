"""Multiplies by rows, and divides by the number of micro-batches.

expects: is divided by the number of micro-batches, not of rows
points: 8.5
"""

import jax
import jax.numpy as jnp


# %% accumulate
def accumulate(loss_fn, params, batches):
    with_gradient = jax.value_and_grad(loss_fn, has_aux=True)

    def add(sums, batch):
        loss_sum, grad_sum, rows = sums
        (loss, n), grads = with_gradient(params, batch)
        grad_sum = jax.tree.map(lambda total, g: total + n * g, grad_sum, grads)
        return (loss_sum + n * loss, grad_sum, rows + 1.0), None

    start = 0.0, jax.tree.map(jnp.zeros_like, params), 0.0
    (loss_sum, grad_sum, rows), _ = jax.lax.scan(add, start, batches)
    return loss_sum / rows, jax.tree.map(lambda total: total / rows, grad_sum)
