"""Mends the conversions, the waits and the second pass, and leaves the rest.

expects: `aten::full` is called once for each sample
points: 7.5
"""

import torch


# %% fast_step
def fast_step(params, x, y, rate):
    x = x.to(torch.float32)
    logits = network(params, x)
    total = 0.0
    for i in range(len(y)):
        target = soft_labels(logits.shape[1])[y[i : i + 1]]
        loss = -(target * torch.log_softmax(logits[i : i + 1], dim=1)).sum() / len(y)
        total = total + loss
    accuracy = (logits.argmax(dim=1) == y).float().mean()
    total.backward()
    with torch.no_grad():
        for p in params:
            p -= rate * p.grad
            p.grad = None
    return total.item(), accuracy.item()
