"""Computes the slopes in forward, and saves them for backward in the place of x.

expects: save x itself
points: 8.5
"""

import torch


# %% leaky_power
class LeakyPower(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, a, p):
        base = torch.where(x > 0, x, torch.ones_like(x))
        slope_of_x = torch.where(x > 0, p * base ** (p - 1), a.expand_as(x))
        ctx.save_for_backward(slope_of_x, torch.where(x > 0, torch.zeros_like(x), x), a)
        return torch.where(x > 0, base**p, a * x)

    @staticmethod
    def backward(ctx, g):
        slope_of_x, slope_of_a, a = ctx.saved_tensors
        return g * slope_of_x, (g * slope_of_a).sum_to_size(a.shape), None
