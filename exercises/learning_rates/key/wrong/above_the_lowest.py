"""Calls a run diverged if it ends above its lowest loss.

expects: because it was lower still on the way
points: 9
"""

import numpy as np


# %% diverged
def diverged(runs):
    return [n for n, losses in runs.items() if not np.all(np.isfinite(losses)) or losses[-1] > min(losses)]
