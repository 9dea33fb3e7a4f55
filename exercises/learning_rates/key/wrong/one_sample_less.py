"""Divides the Hessian by n - 1.

expects: divided by one sample less
points: 7.5
"""


# %% hessian
def hessian(x):
    return 2 * x.T @ x / (len(x) - 1)
