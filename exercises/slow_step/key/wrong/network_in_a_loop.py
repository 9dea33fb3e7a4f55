"""Sends the samples through the network one by one.

expects: samples go through one by one
points: 9
"""

import torch


# %% fast_step
def fast_step(params, x, y, rate):
    w1, b1, w2, b2 = params
    x = x.to(torch.float32)
    logits = torch.stack([torch.relu(row @ w1.t() + b1) @ w2.t() + b2 for row in x])
    loss = torch.nn.functional.cross_entropy(logits, soft_labels(logits.shape[1])[y])
    accuracy = (logits.argmax(dim=1) == y).float().mean()
    loss.backward()
    with torch.no_grad():
        for p in params:
            p -= rate * p.grad
            p.grad = None
    return loss.item(), accuracy.item()
