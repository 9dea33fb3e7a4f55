"""Has the wrong sign in the softmax.

expects: `softmax_backward` has the wrong sign
points: 8
"""


# %% softmax_backward
def softmax_backward(p, g):
    return p * ((p * g).sum(axis=-1, keepdims=True) - g)
