"""Forgets the 2 of the derivative of the square.

expects: the Hessian is half of what it must be
points: 7.5
"""


# %% hessian
def hessian(x):
    return x.T @ x / len(x)
