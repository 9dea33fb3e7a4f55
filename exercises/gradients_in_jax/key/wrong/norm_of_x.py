"""Takes the norm of x, which is the wrong vector.

expects: takes the norm of x
points: 8
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
    x, bound = saved
    norm = jnp.sqrt(jnp.sum(x**2))
    return v * (bound / jnp.maximum(norm, bound)), jnp.zeros_like(bound)


limit.defvjp(limit_forward, limit_backward)
