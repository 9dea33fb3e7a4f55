"""Subtracts the row's sum after the product, without the factor p.

expects: that sum, too, is multiplied by p
points: 8
"""


# %% softmax_backward
def softmax_backward(p, g):
    return p * g - (p * g).sum(axis=-1, keepdims=True)
