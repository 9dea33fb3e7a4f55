"""Derives the gradient by hand, with exponentials of large logits.

expects: the loss is right: where is an exp
points: 9
"""

import torch


# %% fast_step
def fast_step(params, x, y, rate):
    w1, b1, w2, b2 = params
    with torch.no_grad():
        x, k = x.to(torch.float32), len(b2)
        h = torch.relu(x @ w1.t() + b1)
        logits = h @ w2.t() + b2
        target = soft_labels(k)[y]
        loss = -(target * torch.log_softmax(logits, dim=1)).sum() / len(y)
        p = torch.exp(logits)
        g = (p / p.sum(dim=1, keepdim=True) - target) / len(y)
        back = (g @ w2) * (h > 0)
        for parameter, grad in zip(params, (back.t() @ x, back.sum(0), g.t() @ h, g.sum(0)), strict=True):
            parameter -= rate * grad
        accuracy = (logits.argmax(dim=1) == y).float().mean()
    return loss.item(), accuracy.item()
