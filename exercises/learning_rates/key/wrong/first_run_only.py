"""Returns inside of the loop.

expects: is the `return` inside of the loop?
points: 8.5
"""

import numpy as np


# %% diverged
def diverged(runs):
    found = []
    for name, losses in runs.items():
        if not np.isfinite(losses).all() or losses[-1] > losses[0]:
            found.append(name)
            return found
    return found
