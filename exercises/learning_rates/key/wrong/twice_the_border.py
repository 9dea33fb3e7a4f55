"""Takes 4 for the 2.

expects: the rate is twice the border
points: 7.5
"""

import numpy as np


# %% largest_stable_rate
def largest_stable_rate(h):
    return 4 / np.linalg.eigvalsh(h)[-1]
