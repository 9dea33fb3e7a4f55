"""Multiplies by the probabilities and subtracts nothing.

expects: is p * g
points: 8
"""


# %% softmax_backward
def softmax_backward(p, g):
    return p * g
