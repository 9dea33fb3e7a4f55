"""Lets torch differentiate in part 3, and calls that in part 4.

expects: `attention_backward` uses `torch.autograd`: that differentiates for you
points: 4
"""

import numpy as np


# %% attention_backward
def attention_backward(g, q, k, v, lse):
    import torch

    leaves = [torch.tensor(x, requires_grad=True) for x in (q, k, v)]
    z = leaves[0] @ leaves[1].mT / q.shape[-1] ** 0.5
    p = z.masked_fill(~torch.tensor(np.isfinite(scores(q, k))), -torch.inf).softmax(dim=-1)
    return tuple(x.numpy() for x in torch.autograd.grad(p @ leaves[2], leaves, torch.tensor(g)))


# %% backward_in_blocks
def backward_in_blocks(g, q, k, v, out, lse, size):
    return attention_backward(g, q, k, v, lse)
