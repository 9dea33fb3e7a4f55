"""Clips each element of the gradient by itself.

expects: clips each element by itself
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
    return jnp.clip(v, -bound, bound), jnp.zeros_like(bound)


limit.defvjp(limit_forward, limit_backward)
