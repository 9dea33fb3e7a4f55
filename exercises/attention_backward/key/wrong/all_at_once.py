"""Ignores the size of the blocks.

expects: holds an array of t x s numbers
points: 8
"""


# %% backward_in_blocks
def backward_in_blocks(g, q, k, v, out, lse, size):
    return attention_backward(g, q, k, v, lse)
