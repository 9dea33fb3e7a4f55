"""Asks JAX for the gradient of the logits.

expects: `loss_backward` uses `jax.grad`
points: 7
"""

import numpy as np


# %% loss_backward
def loss_backward(logits, y):
    import jax

    def loss(s):
        return -jax.nn.log_softmax(s)[np.arange(len(y)), y].mean()

    with jax.enable_x64(True):
        return np.array(jax.grad(loss)(logits))
