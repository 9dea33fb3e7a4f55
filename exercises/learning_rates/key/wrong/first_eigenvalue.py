"""Takes the first eigenvalue that eig returns for the largest.

expects: which comes first is not fixed
points: 7.5
"""

import numpy as np


# %% largest_stable_rate
def largest_stable_rate(h):
    return 2 / np.linalg.eig(h)[0][0]
