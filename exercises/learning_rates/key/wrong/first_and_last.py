"""Takes the first and the last curvature that eig returns.

expects: your best rate is computed from the position of a curvature
points: 9
"""

import numpy as np


# %% fastest_rate
def fastest_rate(h):
    curvatures = np.linalg.eigvals(h)
    return 2 / (curvatures[0] + curvatures[1])
