"""Clips in the forward pass as well.

expects: `limit` clips x: in the forward pass
points: 9.5
"""

import jax
import jax.numpy as jnp


# %% limit
@jax.custom_vjp
def limit(x, bound):
    return jnp.clip(x, -bound, bound)


def limit_forward(x, bound):
    return jnp.clip(x, -bound, bound), bound


def limit_backward(bound, v):
    norm = jnp.sqrt(jnp.sum(v**2))
    return v * (bound / jnp.maximum(norm, bound)), jnp.zeros_like(bound)


limit.defvjp(limit_forward, limit_backward)
