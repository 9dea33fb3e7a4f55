"""Adds up over the last dimension.

expects: whose shape is not its argument's
points: 5
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
        return (
            g * torch.where(x > 0, ctx.p * torch.where(x > 0, x, 1.0) ** (ctx.p - 1), a.expand_as(x)),
            (g * torch.where(x > 0, torch.zeros_like(x), x)).sum(-1),
            None,
        )
