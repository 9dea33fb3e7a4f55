"""Names the runs with nan before the others.

expects: a run with a loss that is nan has its place there
points: 9
"""

import numpy as np


# %% diverged
def diverged(runs):
    broken = [name for name, losses in runs.items() if not np.isfinite(losses).all()]
    return broken + [name for name, losses in runs.items() if losses[-1] > losses[0] and name not in broken]
