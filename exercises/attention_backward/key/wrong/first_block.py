"""Stops when the first block is done.

expects: dv is that of the first block alone
points: 7.5
"""

import numpy as np


# %% backward_in_blocks
def backward_in_blocks(g, q, k, v, out, lse, size):
    t, s, root = q.shape[-2], k.shape[-2], q.shape[-1] ** 0.5
    shared = (g * out).sum(axis=-1, keepdims=True)
    dq, dk, dv = np.zeros_like(q), np.zeros_like(k), np.zeros_like(v)
    for start in range(0, s, size):
        block = (..., slice(start, start + size), slice(None))
        p = np.exp(scores(q, k[block], s - t - start) - lse[..., None])
        dz = p * (g @ v[block].swapaxes(-1, -2) - shared) / root
        dq += dz @ k[block]
        dk[block] = dz.swapaxes(-1, -2) @ q
        dv[block] = p.swapaxes(-1, -2) @ g
        break
    return dq, dk, dv
