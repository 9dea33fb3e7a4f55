"""Has as many classes as the batch happens to show.

expects: whatever the batch holds
points: 9.5
"""

import torch


# %% fast_step
def fast_step(params, x, y, rate):
    w1, b1, w2, b2 = params
    x = x.to(torch.float32)
    logits = torch.relu(x @ w1.t() + b1) @ w2.t() + b2
    hot = torch.nn.functional.one_hot(y)
    targets = torch.where(hot == 1, 0.9, 0.1 / (hot.shape[1] - 1))
    loss = -(targets * torch.log_softmax(logits, dim=1)).sum(dim=1).mean()
    accuracy = (logits.argmax(dim=1) == y).float().mean()
    loss.backward()
    with torch.no_grad():
        for p in params:
            p -= rate * p.grad
            p.grad = None
    return loss.item(), accuracy.item()
