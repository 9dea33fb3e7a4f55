"""Trains on hard labels.

expects: the loss is that of hard labels
points: 8
"""

import torch


# %% fast_step
def fast_step(params, x, y, rate):
    w1, b1, w2, b2 = params
    x = x.to(torch.float32)
    logits = torch.relu(x @ w1.t() + b1) @ w2.t() + b2
    loss = torch.nn.functional.cross_entropy(logits, y)
    accuracy = (logits.argmax(dim=1) == y).float().mean()
    loss.backward()
    with torch.no_grad():
        for p in params:
            p -= rate * p.grad
            p.grad = None
    return loss.item(), accuracy.item()
