"""Divides by the square of the norm.

expects: divides by the square of the norm
points: 8.5
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
    square = jnp.sum(v**2)
    return v * jnp.minimum(1.0, bound / jnp.maximum(square, 1e-30)), jnp.zeros_like(bound)


limit.defvjp(limit_forward, limit_backward)
