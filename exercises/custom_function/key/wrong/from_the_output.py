"""Saves the result, and computes the slope of the power from it.

expects: computed from y: the rule needs the input
points: 7
"""

import torch


# %% leaky_power
class LeakyPower(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, a, p):
        y = torch.where(x > 0, x.clamp(min=0) ** p, a * x)
        ctx.save_for_backward(y, a, x)
        ctx.p = p
        return y

    @staticmethod
    def backward(ctx, g):
        y, a, x = ctx.saved_tensors
        base = torch.where(y > 0, y, torch.ones_like(y))
        dx = g * torch.where(x > 0, ctx.p * base ** (ctx.p - 1), a.expand_as(x))
        da = g * torch.where(x > 0, torch.zeros_like(x), x)
        return dx, da.sum_to_size(a.shape), None
