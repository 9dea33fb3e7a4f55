"""Divides by the norm before it multiplies by what is left of it.

expects: makes a gradient of zeros nan
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
    return v / norm * jnp.minimum(norm, bound), jnp.zeros_like(bound)


limit.defvjp(limit_forward, limit_backward)
