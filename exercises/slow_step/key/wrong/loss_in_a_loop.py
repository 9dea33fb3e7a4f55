"""Leaves the loop over the samples in the loss.

expects: `aten::_log_softmax` is called once for each sample
points: 9
"""

import torch


# %% fast_step
def fast_step(params, x, y, rate):
    w1, b1, w2, b2 = params
    x = x.to(torch.float32)
    logits = torch.relu(x @ w1.t() + b1) @ w2.t() + b2
    table = soft_labels(logits.shape[1])
    loss = 0.0
    for i in range(len(y)):
        loss = loss - (table[y[i : i + 1]] * torch.log_softmax(logits[i : i + 1], dim=1)).sum() / len(y)
    accuracy = (logits.argmax(dim=1) == y).float().mean()
    loss.backward()
    with torch.no_grad():
        for p in params:
            p -= rate * p.grad
            p.grad = None
    return loss.item(), accuracy.item()
