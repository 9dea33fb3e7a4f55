"""Returns the names without an order.

expects: `diverged` returned a set; it must return a list of names
points: 8.5
"""

import numpy as np


# %% diverged
def diverged(runs):
    return {name for name, losses in runs.items() if not np.isfinite(losses).all() or losses[-1] > losses[0]}
