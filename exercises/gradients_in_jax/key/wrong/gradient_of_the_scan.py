"""Differentiates a scan that adds up losses, which keeps all activations.

expects: or activations that a backward pass through the scan needs
points: 9
"""

import jax


# %% accumulate
def accumulate(loss_fn, params, batches):
    def whole(params):
        def add(sums, batch):
            loss, n = loss_fn(params, batch)
            return (sums[0] + n * loss, sums[1] + n), None

        (loss_sum, rows), _ = jax.lax.scan(add, (0.0, 0.0), batches)
        return loss_sum / rows

    return jax.value_and_grad(whole)(params)
