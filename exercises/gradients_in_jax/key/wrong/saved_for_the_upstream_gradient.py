"""Takes what was saved for the upstream gradient.

expects: is given what was saved, and then v
points: 7.5
"""

import jax
import jax.numpy as jnp


# %% limit
@jax.custom_vjp
def limit(x, bound):
    return x


def limit_forward(x, bound):
    return x, bound


def limit_backward(v, bound):
    norm = jnp.sqrt(jnp.sum(v**2))
    return v * (bound / jnp.maximum(norm, bound)), jnp.zeros_like(bound)


limit.defvjp(limit_forward, limit_backward)
