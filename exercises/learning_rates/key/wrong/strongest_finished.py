"""Takes the inverse of the strongest curvature for the best rate.

expects: leaves the weakest behind
points: 9
"""

import numpy as np


# %% fastest_rate
def fastest_rate(h):
    return 1 / np.linalg.eigvalsh(h)[-1]
