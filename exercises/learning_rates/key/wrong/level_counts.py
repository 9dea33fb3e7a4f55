"""Calls a run diverged that ends where it began.

expects: the very loss it began with
points: 9
"""

import numpy as np


# %% diverged
def diverged(runs):
    return [name for name, losses in runs.items() if not np.isfinite(losses).all() or losses[-1] >= losses[0]]
