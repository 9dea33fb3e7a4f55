"""Names the last axis by its number where there is one head.

expects: sum along the last axis, not axis 1
points: 9.5
"""


# %% softmax_backward
def softmax_backward(p, g):
    return p * (g - (p * g).sum(axis=1, keepdims=True))
