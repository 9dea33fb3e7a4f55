"""Takes the softmax and then its logarithm, in two steps.

expects: a softmax is 0 before the log
points: 9.5
"""

import torch


# %% fast_step
def fast_step(params, x, y, rate):
    w1, b1, w2, b2 = params
    logits = torch.relu(x.to(torch.float32) @ w1.t() + b1) @ w2.t() + b2
    logp = torch.softmax(logits, dim=1).log()
    loss = -(soft_labels(logits.shape[1])[y] * logp).sum() / len(y)
    accuracy = (logits.argmax(dim=1) == y).float().mean()
    loss.backward()
    with torch.no_grad():
        for p in params:
            p -= rate * p.grad
            p.grad = None
    return loss.item(), accuracy.item()
