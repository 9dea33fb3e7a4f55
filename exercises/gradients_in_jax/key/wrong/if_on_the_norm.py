"""Asks `if` about the norm, which tracing cannot answer.

expects: asks `if`, `max` or `and` about a traced value
points: 9
"""

import jax
import jax.numpy as jnp


# %% limit
@jax.custom_vjp
def limit(x, bound):
    return x


def limit_forward(x, bound):
    return x, bound


def limit_backward(bound, v):
    norm = jnp.sqrt(jnp.sum(v**2))
    factor = bound / norm if norm > bound else 1.0
    return v * factor, 0.0 * bound


limit.defvjp(limit_forward, limit_backward)
