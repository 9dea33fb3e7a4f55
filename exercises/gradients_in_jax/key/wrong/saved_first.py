"""Returns what is saved before the result.

expects: must return the result first, which is x
points: 9
"""

import jax
import jax.numpy as jnp


# %% limit
@jax.custom_vjp
def limit(x, bound):
    return x


def limit_forward(x, bound):
    return bound, x


def limit_backward(bound, v):
    norm = jnp.sqrt(jnp.sum(v**2))
    return v * (bound / jnp.maximum(norm, bound)), jnp.zeros_like(bound)


limit.defvjp(limit_forward, limit_backward)
