"""Goes by the smallest eigenvalue.

expects: the weakest curvature only
points: 7.5
"""

import numpy as np


# %% largest_stable_rate
def largest_stable_rate(h):
    return 2 / np.linalg.eigvalsh(h)[0]
