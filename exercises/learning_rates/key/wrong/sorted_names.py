"""Sorts the names.

expects: not in the order of the dict
points: 9
"""

import numpy as np


# %% diverged
def diverged(runs):
    return sorted(name for name, losses in runs.items() if not np.isfinite(losses).all() or losses[-1] > losses[0])
