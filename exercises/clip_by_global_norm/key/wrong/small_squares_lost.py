"""Scales down what is large, and squares small numbers in float32.

expects: loses small float32 gradients
points: 9.75
"""

import numpy as np


# %% global_norm
def global_norm(grads):
    largest = max(1.0, *(float(np.abs(g).max()) for g in grads.values()))
    squares = [np.square(g.astype(np.float32) / np.float32(largest)).sum(dtype=np.float64) for g in grads.values()]
    return float(np.sqrt(sum(squares))) * largest
