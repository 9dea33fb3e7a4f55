"""Takes the largest of the arrays' norms.

expects: it is the largest of the arrays' norms
points: 8
"""

import numpy as np


# %% global_norm
def global_norm(grads):
    return float(max(np.sqrt(np.square(g.astype(np.float64)).sum()) for g in grads.values()))
