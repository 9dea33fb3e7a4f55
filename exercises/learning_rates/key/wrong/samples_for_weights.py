"""Multiplies the other way round, and gets a row for each sample.

expects: has a row for each sample
points: 7.5
"""


# %% hessian
def hessian(x):
    return 2 * x @ x.T / len(x)
