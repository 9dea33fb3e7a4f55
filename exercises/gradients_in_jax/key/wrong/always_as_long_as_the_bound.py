"""Makes every gradient as long as the bound.

expects: makes a gradient longer that is within the bound
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
    return v * (bound / jnp.maximum(norm, 1e-30)), jnp.zeros_like(bound)


limit.defvjp(limit_forward, limit_backward)
