"""Asserts what must hold, where an error was asked for.

expects: uses assert, which is gone
points: 9
"""

import numpy as np


# %% clip
def clip(grads, max_norm):
    assert max_norm > 0
    for n, g in grads.items():
        assert np.isfinite(g).all(), n
    norm = global_norm(grads)
    f = min(1.0, max_norm / norm) if norm else 1.0
    return {n: (g.astype(float) * f).astype(g.dtype) for n, g in grads.items()}, norm
