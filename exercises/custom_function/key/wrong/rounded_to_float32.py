"""Computes in float32.

expects: `forward` returns float32 where x is float64
points: 5
"""

import torch


# %% leaky_power
class LeakyPower(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, a, p):
        ctx.save_for_backward(x, a)
        ctx.p = p
        return torch.where(x > 0, x.clamp(min=0) ** p, a * x).float()

    @staticmethod
    def backward(ctx, g):
        x, a = ctx.saved_tensors
        base = torch.where(x > 0, x, torch.ones_like(x))
        dx = g * torch.where(x > 0, ctx.p * base ** (ctx.p - 1), a.expand_as(x))
        da = g * torch.where(x > 0, torch.zeros_like(x), x)
        return dx, da.sum_to_size(a.shape), None
