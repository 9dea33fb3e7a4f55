"""Returns the gradient before the loss.

expects: `accumulate` returns the gradient first
points: 9.5
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
        return (loss_sum + n * loss, grad_sum, rows + n), None

    start = 0.0, jax.tree.map(jnp.zeros_like, params), 0.0
    (loss_sum, grad_sum, rows), _ = jax.lax.scan(add, start, batches)
    return jax.tree.map(lambda total: total / rows, grad_sum), loss_sum / rows
