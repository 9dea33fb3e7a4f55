"""Computes five products of nothing.

expects: no number is that of
points: 3
"""

import torch


# %% fast_step
def fast_step(params, x, y, rate):
    for _ in range(5):
        torch.ones(2, 2) @ torch.ones(2, 2)
    return 1.0, 2.0
