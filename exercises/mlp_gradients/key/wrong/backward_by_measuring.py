"""Empties the stack, and measures the slope along every element of every weight and of x.

expects: `backward`: where a feature is tiny
points: 3.5
"""

import numpy as np


# %% backward
def backward(out, stack, weights):
    arrays = [stack[0], *weights]
    stack.clear()
    gradients = []
    for k, array in enumerate(arrays):
        g = np.zeros_like(array)
        for index in np.ndindex(array.shape):
            for step in (1e-6, -1e-6):
                moved = [v.astype(float) for v in arrays]
                moved[k][index] += step
                g[index] += 0.5 * (forward(moved[0], moved[1:])[0] ** 2).sum() / (2 * step)
        gradients.append(g)
    return gradients[1:], gradients[0]
