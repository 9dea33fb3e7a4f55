"""Finds the largest logit of each sample in a loop over nested lists, which no profile sees.

expects: nothing in the trace looks for the largest logit
points: 5
"""

import torch


# %% fast_step
def fast_step(params, x, y, rate):
    w1, b1, w2, b2 = params
    hidden = torch.relu(torch.nn.functional.linear(x.to(torch.float32), w1, b1))
    logits = torch.nn.functional.linear(hidden, w2, b2)
    loss = torch.nn.functional.cross_entropy(logits, soft_labels(logits.shape[1])[y])
    correct = sum(row.index(max(row)) == label for row, label in zip(logits.tolist(), y.tolist(), strict=True))
    loss.backward()
    with torch.no_grad():
        for p in params:
            p -= rate * p.grad
            p.grad = None
    return loss.item(), correct / len(y)
