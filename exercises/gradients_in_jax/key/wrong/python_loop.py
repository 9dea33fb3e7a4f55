"""Loops in Python, which is unrolled when it is traced.

expects: a Python loop is unrolled
points: 9
"""

import jax
import jax.numpy as jnp


# %% accumulate
def accumulate(loss_fn, params, batches):
    with_gradient = jax.value_and_grad(loss_fn, has_aux=True)
    loss_sum, grad_sum, rows = 0.0, jax.tree.map(jnp.zeros_like, params), 0.0
    for i in range(len(batches[0])):
        (loss, n), grads = with_gradient(params, tuple(a[i] for a in batches))
        grad_sum = jax.tree.map(lambda total, g, n=n: total + n * g, grad_sum, grads)
        loss_sum, rows = loss_sum + n * loss, rows + n
    return loss_sum / rows, jax.tree.map(lambda total: total / rows, grad_sum)
