"""Takes the runs that went well out of the dict.

expects: `diverged` changed the runs
points: 9.5
"""

import numpy as np


# %% diverged
def diverged(runs):
    for name, losses in list(runs.items()):
        if np.isfinite(losses).all() and losses[-1] <= losses[0]:
            del runs[name]
    return list(runs)
