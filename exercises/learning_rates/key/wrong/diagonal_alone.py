"""Differentiates twice along each weight, and never along two.

expects: the Hessian is 0 off the diagonal
points: 8
"""

import numpy as np


# %% hessian
def hessian(x):
    return np.diag(2 * np.mean(x**2, axis=0))
