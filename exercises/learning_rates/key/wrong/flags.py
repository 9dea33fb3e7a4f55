"""Returns whether each run diverged, and no names.

expects: it must return a list of names
points: 8.5
"""

import numpy as np


# %% diverged
def diverged(runs):
    return [not np.isfinite(losses).all() or losses[-1] > losses[0] for name, losses in runs.items()]
