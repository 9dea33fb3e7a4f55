"""Measures the slopes of the softmax.

expects: where a probability is tiny
points: 8.5
"""

import numpy as np


# %% softmax_backward
def softmax_backward(p, g):
    z, dz = np.log(p), np.zeros_like(p)
    for index in np.ndindex(p.shape):
        sums = []
        for step in (1e-5, -1e-5):
            moved = z.copy()
            moved[index] += step
            e = np.exp(moved)
            sums.append((g * e / e.sum(axis=-1, keepdims=True)).sum())
        dz[index] = (sums[0] - sums[1]) / 2e-5
    return dz
