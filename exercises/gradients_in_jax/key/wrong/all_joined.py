"""Lazy: joins all micro-batches to the batch that does not fit.

expects: gives loss_fn several micro-batches at once
points: 6.5
"""

import jax


# %% accumulate
def accumulate(loss_fn, params, batches):
    whole = jax.tree.map(lambda a: a.reshape(-1, *a.shape[2:]), batches)
    (loss, _), grads = jax.value_and_grad(loss_fn, has_aux=True)(params, whole)
    return loss, grads
