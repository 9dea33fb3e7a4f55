"""Divides by the number of samples in the example.

expects: the Hessian is divided by 4
points: 7.5
"""


# %% hessian
def hessian(x):
    return x.T @ x / 2
