"""Lets negative numbers into the power in backward, and picks the right branch afterwards.

expects: the second derivative is nan
points: 9
"""

import torch


# %% leaky_power
class LeakyPower(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, a, p):
        ctx.save_for_backward(x, a)
        ctx.p = p
        return torch.where(x > 0, x.clamp(min=0) ** p, a * x)

    @staticmethod
    def backward(ctx, g):
        x, a = ctx.saved_tensors
        dx = g * torch.where(x > 0, ctx.p * x ** (ctx.p - 1), a.expand_as(x))
        da = g * torch.where(x > 0, torch.zeros_like(x), x)
        return dx, da.sum_to_size(a.shape), None
