"""Begins the sum of gradients with a number for each array, so the carry changes its shape.

expects: the carry of the scan in `accumulate` changes
points: 7.5
"""

import jax


# %% accumulate
def accumulate(loss_fn, params, batches):
    with_gradient = jax.value_and_grad(loss_fn, has_aux=True)

    def add(sums, batch):
        loss_sum, grad_sum, rows = sums
        (loss, n), grads = with_gradient(params, batch)
        grad_sum = jax.tree.map(lambda total, g: total + n * g, grad_sum, grads)
        return (loss_sum + n * loss, grad_sum, rows + n), None

    start = 0.0, dict.fromkeys(params, 0.0), 0.0
    (loss_sum, grad_sum, rows), _ = jax.lax.scan(add, start, batches)
    return loss_sum / rows, jax.tree.map(lambda total: total / rows, grad_sum)
