"""Cuts x off at 0 in backward, too, and so puts 0 into a root.

expects: where x is 0 and the power 1.5
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
        dx = g * torch.where(x > 0, ctx.p * x.clamp(min=0) ** (ctx.p - 1), a.expand_as(x))
        da = g * torch.where(x > 0, torch.zeros_like(x), x)
        return dx, da.sum_to_size(a.shape), None
