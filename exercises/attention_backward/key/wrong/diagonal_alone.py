"""Takes the diagonal of the Jacobian for all of it.

expects: the diagonal of the Jacobian alone
points: 8
"""


# %% softmax_backward
def softmax_backward(p, g):
    return p * (1 - p) * g
