"""Takes the covariance of the features for their mean products.

expects: the covariance of the features
points: 7.5
"""

import numpy as np


# %% hessian
def hessian(x):
    return 2 * np.cov(x, rowvar=False, bias=True)
