"""Divides by every curvature and takes the minimum, which rounding below zero makes negative.

expects: a curvature of 0 makes the rate infinite, negative or nan
points: 9
"""

import numpy as np


# %% largest_stable_rate
def largest_stable_rate(h):
    curvatures = np.linalg.eigvalsh(h)
    return min(2 / curvature for curvature in curvatures)
