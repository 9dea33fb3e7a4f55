"""Declares the bound as one of nondiff_argnums.

expects: cannot take a bound that is traced
points: 9
"""

import jax
import jax.numpy as jnp


# %% limit
def identity(x, bound):
    return x


limit = jax.custom_vjp(identity, nondiff_argnums=(1,))


def limit_forward(x, bound):
    return x, None


def limit_backward(bound, _, v):
    norm = jnp.sqrt(jnp.sum(v**2))
    return (v * (bound / jnp.maximum(norm, bound)),)


limit.defvjp(limit_forward, limit_backward)
