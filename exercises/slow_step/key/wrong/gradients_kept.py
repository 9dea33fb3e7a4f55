"""Never clears the gradients.

expects: the second step moves by the gradients of the first as well
points: 9
"""

import torch


# %% fast_step
def fast_step(params, x, y, rate):
    w1, b1, w2, b2 = params
    x = x.to(torch.float32)
    logits = torch.relu(x @ w1.t() + b1) @ w2.t() + b2
    loss = torch.nn.functional.cross_entropy(logits, soft_labels(logits.shape[1])[y])
    accuracy = (logits.argmax(dim=1) == y).float().mean()
    loss.backward()
    with torch.no_grad():
        for p in params:
            p -= rate * p.grad
    return loss.item(), accuracy.item()
