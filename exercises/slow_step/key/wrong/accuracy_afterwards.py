"""Measures the accuracy after the step, with a forward pass of its own.

expects: the accuracy is that of the parameters after the step
points: 8.5
"""

import torch


# %% fast_step
def fast_step(params, x, y, rate):
    w1, b1, w2, b2 = params
    x = x.to(torch.float32)
    logits = torch.relu(x @ w1.t() + b1) @ w2.t() + b2
    loss = torch.nn.functional.cross_entropy(logits, soft_labels(logits.shape[1])[y])
    loss.backward()
    with torch.no_grad():
        for p in params:
            p -= rate * p.grad
            p.grad = None
        logits = torch.relu(x @ w1.t() + b1) @ w2.t() + b2
        accuracy = (logits.argmax(dim=1) == y).float().mean()
    return loss.item(), accuracy.item()
