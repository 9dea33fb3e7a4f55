"""Lets torch differentiate the forward pass in the backward pass.

expects: that asks torch for the gradient
points: 5
"""

import torch


# %% leaky_power
def computed(x, a, p):
    return torch.where(x > 0, torch.where(x > 0, x, torch.ones_like(x)) ** p, a * x)


class LeakyPower(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, a, p):
        ctx.save_for_backward(x, a)
        ctx.p = p
        return computed(x, a, p)

    @staticmethod
    def backward(ctx, g):
        x, a = ctx.saved_tensors
        with torch.enable_grad():
            dx, da = torch.autograd.grad(computed(x, a, ctx.p), (x, a), g, create_graph=True)
        return dx, da, None
