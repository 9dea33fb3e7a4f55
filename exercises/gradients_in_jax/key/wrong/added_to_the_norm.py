"""Adds a small number to the norm, so as not to divide by 0.

expects: is something added to the norm?
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
    return v * jnp.minimum(1.0, bound / (norm + 1e-6)), jnp.zeros_like(bound)


limit.defvjp(limit_forward, limit_backward)
