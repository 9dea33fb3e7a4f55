"""Takes the root of the mean square.

expects: the squares are added up, not averaged
points: 8
"""

import numpy as np


# %% global_norm
def global_norm(grads):
    entries = np.concatenate([g.astype(np.float64).ravel() for g in grads.values()])
    return float(np.sqrt(np.square(entries).mean()))
