"""Saves the bound and x in one order, and unpacks them in another.

expects: does it unpack what was saved in another order
points: 7
"""

import jax
import jax.numpy as jnp


# %% limit
@jax.custom_vjp
def limit(x, bound):
    return x


def limit_forward(x, bound):
    return x, (x, bound)


def limit_backward(saved, v):
    bound, _ = saved
    norm = jnp.sqrt(jnp.sum(v**2))
    return v * (bound / jnp.maximum(norm, bound)), jnp.zeros_like(bound)


limit.defvjp(limit_forward, limit_backward)
