"""Joins the gradients for the total, and has none to join where no parameter has one.

expects: where no parameter has a gradient, `record` raised
points: 9.5
"""

import torch


# %% record
def record(model):
    rows, joined = {}, []
    for name, p in model.named_parameters():
        rows[name] = None if p.grad is None else numbers(p.grad.double().flatten())
        joined += [] if p.grad is None else [p.grad.double().flatten()]
    return rows, torch.cat(joined).norm().item()


def numbers(g):
    std = g.std().item() if g.numel() > 1 else 0.0
    row = {"norm": g.norm().item(), "mean": g.mean().item(), "std": std, "largest": g.abs().max().item()}
    return row | {"nonfinite": int((~g.isfinite()).sum())}
