"""Lets JAX go back through the shared weights.

expects: `tied_gradients` uses `jax.grad`
points: 8.5
"""

import numpy as np


# %% tied_gradients
def tied_gradients(x, weights, uses):
    import jax

    def loss(weights):
        h = x @ weights[uses[0]]
        for k in uses[1:]:
            h = jax.nn.relu(h) @ weights[k]
        return 0.5 * (h**2).sum()

    with jax.enable_x64(True):
        return [np.array(g) for g in jax.grad(loss)(weights)]
