"""Measures the slope along every element of every weight.

expects: `tied_gradients`: where a feature is tiny
points: 9
"""

import numpy as np


# %% tied_gradients
def tied_gradients(x, weights, uses):
    def loss(moved):
        return 0.5 * (forward(x.astype(float), [moved[k] for k in uses])[0] ** 2).sum()

    gradients = []
    for k, w in enumerate(weights):
        g = np.zeros_like(w)
        for index in np.ndindex(w.shape):
            for step in (1e-6, -1e-6):
                moved = [v.astype(float) for v in weights]
                moved[k][index] += step
                g[index] += loss(moved) / (2 * step)
        gradients.append(g)
    return gradients
