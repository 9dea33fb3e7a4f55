"""Subtracts the mean of g without its weights.

expects: the plain mean of g
points: 8
"""


# %% softmax_backward
def softmax_backward(p, g):
    return p * (g - g.mean(axis=-1, keepdims=True))
