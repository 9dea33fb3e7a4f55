"""Takes the mean of the curvatures for the largest.

expects: the rate goes by the mean curvature
points: 7.5
"""

import numpy as np


# %% largest_stable_rate
def largest_stable_rate(h):
    return 2 / np.linalg.eigvalsh(h).mean()
