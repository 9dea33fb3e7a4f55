"""Gives the bound the gradient that the norm has with respect to it.

expects: the gradient of bound must be 0
points: 9.5
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
    return v * (bound / jnp.maximum(norm, bound)), jnp.where(norm > bound, 1.0, 0.0)


limit.defvjp(limit_forward, limit_backward)
