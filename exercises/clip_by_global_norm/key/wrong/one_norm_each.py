"""Returns a norm for each array.

expects: `global_norm` returned a list of 4; it must return one number
points: 8
"""

import numpy as np


# %% global_norm
def global_norm(grads):
    return [float(np.linalg.norm(g.astype(np.float64))) for g in grads.values()]
