"""Takes the norm along the last axis.

expects: takes a norm for each row
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
    norm = jnp.linalg.norm(v, axis=-1, keepdims=True)
    return v * (bound / jnp.maximum(norm, bound)), jnp.zeros_like(bound)


limit.defvjp(limit_forward, limit_backward)
