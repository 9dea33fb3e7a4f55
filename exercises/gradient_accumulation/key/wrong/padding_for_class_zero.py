"""Takes padding for rows with the label 0.

expects: rows of padding are taken for rows with the label 0
points: 7.5
"""

import numpy as np


# %% accumulate_padded
def accumulate_padded(params, pieces):
    return accumulate(params, [(x, np.maximum(y, 0)) for x, y in pieces])
