"""Takes the best rate for the border.

expects: the rate is the best one, which another part asks for
points: 8.5
"""

import numpy as np


# %% largest_stable_rate
def largest_stable_rate(h):
    curvatures = np.linalg.eigvalsh(h)
    return 2 / (curvatures[0] + curvatures[-1])
