"""Takes the mean square of each array, and adds those up.

expects: `global_norm` is wrong for ordinary gradients already
points: 8
"""

import numpy as np


# %% global_norm
def global_norm(grads):
    squares = [np.square(g.astype(np.float64)).mean() for g in grads.values()]
    return float(np.sqrt(sum(squares)))
