"""Returns both gradients in the other order.

expects: in a tuple: of the shape of x, and of
points: 9
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
    return jnp.zeros_like(bound), v * (bound / jnp.maximum(norm, bound))


limit.defvjp(limit_forward, limit_backward)
