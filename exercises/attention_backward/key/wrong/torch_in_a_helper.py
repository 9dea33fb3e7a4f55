"""Lets torch differentiate in a helper of part 3, and calls that in part 4.

expects: `backward_in_blocks` uses `torch.autograd`: that differentiates for you
points: 3.5
"""

import numpy as np


# %% attention_backward
def differentiate(g, q, k, v):
    import torch

    leaves = [torch.tensor(x, requires_grad=True) for x in (q, k, v)]
    z = leaves[0] @ leaves[1].mT / q.shape[-1] ** 0.5
    p = z.masked_fill(~torch.tensor(np.isfinite(scores(q, k))), -torch.inf).softmax(dim=-1)
    return tuple(x.numpy() for x in torch.autograd.grad(p @ leaves[2], leaves, torch.tensor(g)))


def attention_backward(g, q, k, v, lse):
    return differentiate(g, q, k, v)


# %% backward_in_blocks
def backward_in_blocks(g, q, k, v, out, lse, size):
    return differentiate(g, q, k, v)
