"""Asks JAX for the gradients of the loss.

expects: `backward` uses `jax.grad`
points: 3.5
"""

import numpy as np


# %% backward
def backward(out, stack, weights):
    import jax

    def loss(x, ws):
        for w in ws[:-1]:
            x = jax.nn.relu(x @ w)
        return 0.5 * ((x @ ws[-1]) ** 2).sum()

    x = stack[0]
    stack.clear()
    with jax.enable_x64(True):
        g_x, gradients = jax.grad(loss, argnums=(0, 1))(x, weights)
    return [np.array(g) for g in gradients], np.array(g_x)
