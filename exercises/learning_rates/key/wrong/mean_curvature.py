"""Takes the mean of the curvatures for the largest.

expects: the rate is computed from the mean curvature
points: 7.5
"""

import numpy as np


# %% largest_stable_rate
def largest_stable_rate(h):
    return 2 / np.linalg.eigvalsh(h).mean()
