"""Lazy: measures slopes by finite differences.

expects: do not measure slopes
points: 7.75
"""

import jax.numpy as jnp


# %% gradients
def gradients(loss_fn, params, x, y, eps=0.01):
    def slopes(a, fn):
        flat, found = a.ravel(), []
        for i in range(flat.size):
            up, down = (fn(flat.at[i].add(step).reshape(a.shape))[0] for step in (eps, -eps))
            found.append((up - down) / (2 * eps))
        return jnp.stack(found).reshape(a.shape)

    loss, aux = loss_fn(params, x, y)
    dparams = {name: slopes(p, lambda q, name=name: loss_fn(params | {name: q}, x, y)) for name, p in params.items()}
    return loss, aux, dparams, slopes(x, lambda q: loss_fn(params, q, y))
