"""Measures slopes.

expects: where a column of
points: 7
"""

import numpy as np


# %% attention_backward
def attention_backward(g, q, k, v, lse):
    arrays = [q, k, v]
    gradients = [np.zeros_like(x) for x in arrays]
    for at, gradient in enumerate(gradients):
        for index in np.ndindex(gradient.shape):
            sums = []
            for step in (1e-5, -1e-5):
                moved = [x.copy() for x in arrays]
                moved[at][index] += step
                z = scores(*moved[:2])
                e = np.exp(z - z.max(axis=-1, keepdims=True))
                sums.append((g * (e / e.sum(axis=-1, keepdims=True) @ moved[2])).sum())
            gradient[index] = (sums[0] - sums[1]) / 2e-5
    return tuple(gradients)
