"""Writes the target of each sample on its own.

expects: targets are written one by one
points: 9.5
"""

import torch


# %% fast_step
def fast_step(params, x, y, rate):
    w1, b1, w2, b2 = params
    x = x.to(torch.float32)
    logits = torch.relu(x @ w1.t() + b1) @ w2.t() + b2
    targets = torch.full(logits.shape, 0.1 / (logits.shape[1] - 1))
    for i, c in enumerate(y.tolist()):
        targets[i, c] = 0.9
    loss = torch.nn.functional.cross_entropy(logits, targets)
    accuracy = (logits.argmax(dim=1) == y).float().mean()
    loss.backward()
    with torch.no_grad():
        for p in params:
            p -= rate * p.grad
            p.grad = None
    return loss.item(), accuracy.item()
