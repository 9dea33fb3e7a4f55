"""Divides the Hessian by n - 1.

expects: divided by one less than the number of samples
points: 7.5
"""


# %% hessian
def hessian(x):
    return 2 * x.T @ x / (len(x) - 1)
