"""Converts the weights to the type of the batch.

expects: converts a weight
points: 9.5
"""

import torch


# %% fast_step
def fast_step(params, x, y, rate):
    w1, b1, w2, b2 = (p.double() for p in params)
    logits = torch.relu(x @ w1.t() + b1) @ w2.t() + b2
    loss = torch.nn.functional.cross_entropy(logits, soft_labels(logits.shape[1])[y].double())
    accuracy = (logits.argmax(dim=1) == y).float().mean()
    loss.backward()
    with torch.no_grad():
        for p in params:
            p -= rate * p.grad
            p.grad = None
    return loss.item(), accuracy.item()
