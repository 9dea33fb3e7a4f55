"""Returns the names in the order of the alphabet, the last one first.

expects: the names are not in the order of the dict
points: 9
"""

import numpy as np


# %% diverged
def diverged(runs):
    found = [name for name, run in runs.items() if not np.all(np.isfinite(run)) or run[-1] > run[0]]
    return sorted(found, reverse=True)
