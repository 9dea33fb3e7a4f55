"""Goes by the largest entry on the diagonal.

expects: the rate is computed from the diagonal
points: 7.5
"""

import numpy as np


# %% largest_stable_rate
def largest_stable_rate(h):
    return 2 / np.diag(h).max()
