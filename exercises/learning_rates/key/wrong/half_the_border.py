"""Takes the rate that reaches the bottom in one step for the largest stable one.

expects: the rate is half of the border
points: 7.5
"""

import numpy as np


# %% largest_stable_rate
def largest_stable_rate(h):
    return 1 / np.linalg.eigvalsh(h)[-1]
