"""Lazy: clips x, and leaves the backward pass to JAX.

expects: `limit` clips x in the forward pass, and what goes back is the derivative
points: 6.5
"""

import jax.numpy as jnp


# %% limit
def limit(x, bound):
    return jnp.clip(x, -bound, bound)
