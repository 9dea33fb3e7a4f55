"""Lets torch differentiate.

expects: `attention_backward` uses `out.backward`: that differentiates for you
points: 6.5
"""

import numpy as np


# %% attention_backward
def attention_backward(g, q, k, v, lse):
    import torch

    q, k, v = (torch.tensor(x, requires_grad=True) for x in (q, k, v))
    z = q @ k.mT / q.shape[-1] ** 0.5
    seen = torch.tensor(np.isfinite(scores(q.detach().numpy(), k.detach().numpy())))
    p = torch.exp(z.masked_fill(~seen, -torch.inf) - torch.tensor(lse)[..., None])
    p = p / p.sum(dim=-1, keepdim=True) * p.detach().sum(dim=-1, keepdim=True)
    out = p @ v
    out.backward(torch.tensor(g))
    return q.grad.numpy(), k.grad.numpy(), v.grad.numpy()
