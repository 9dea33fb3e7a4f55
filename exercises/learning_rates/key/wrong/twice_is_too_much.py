"""Calls a run diverged only if its loss doubles.

expects: a run that ends a little above its start does not count
points: 9
"""

import numpy as np


# %% diverged
def diverged(runs):
    return [name for name, losses in runs.items() if not np.isfinite(losses).all() or losses[-1] > 2 * losses[0]]
