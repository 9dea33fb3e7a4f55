"""Goes by the trace.

expects: the sum of all curvatures
points: 7.5
"""

import numpy as np


# %% largest_stable_rate
def largest_stable_rate(h):
    return 2 / np.trace(h)
