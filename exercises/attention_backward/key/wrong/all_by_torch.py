"""Lets torch differentiate in all three backward functions.

expects: `softmax_backward` uses `torch.autograd`: that differentiates for you
points: 1.5
"""

import numpy as np


# %% softmax_backward
def softmax_backward(p, g):
    import torch

    z = torch.tensor(np.log(p), requires_grad=True)
    return torch.autograd.grad(torch.softmax(z, dim=-1), z, torch.tensor(g))[0].numpy()


# %% attention_backward
def attention_backward(g, q, k, v, lse):
    import torch

    leaves = [torch.tensor(x, requires_grad=True) for x in (q, k, v)]
    z = leaves[0] @ leaves[1].mT / q.shape[-1] ** 0.5
    p = z.masked_fill(~torch.tensor(np.isfinite(scores(q, k))), -torch.inf).softmax(dim=-1)
    return tuple(x.numpy() for x in torch.autograd.grad(p @ leaves[2], leaves, torch.tensor(g)))


# %% backward_in_blocks
def backward_in_blocks(g, q, k, v, out, lse, size):
    import torch

    leaves = [torch.tensor(x, requires_grad=True) for x in (q, k, v)]
    z = leaves[0] @ leaves[1].mT / q.shape[-1] ** 0.5
    p = z.masked_fill(~torch.tensor(np.isfinite(scores(q, k))), -torch.inf).softmax(dim=-1)
    return tuple(x.numpy() for x in torch.autograd.grad(p @ leaves[2], leaves, torch.tensor(g)))
