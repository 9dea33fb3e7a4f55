"""Lets torch's fused kernel attend.

expects: that is a library's attention
points: 8.5
"""

import numpy as np


# %% attention
def attention(q, k, v):
    import torch

    z = scores(q, k)
    seen = torch.tensor(np.isfinite(z))
    out = torch.nn.functional.scaled_dot_product_attention(*map(torch.tensor, (q, k, v)), attn_mask=seen)
    largest = z.max(axis=-1, keepdims=True)
    return out.numpy(), (largest + np.log(np.exp(z - largest).sum(axis=-1, keepdims=True)))[..., 0]
