"""Takes the Hessian of the summed squared errors.

expects: the Hessian is that of the summed squared errors
points: 7.5
"""


# %% hessian
def hessian(x):
    return 2 * x.T @ x
