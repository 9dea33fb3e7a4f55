"""Adds the gradients up.

expects: added up, and never divided
points: 7
"""


# %% accumulate
def accumulate(params, pieces):
    tensors, total = leaves(params), 0.0
    for x, y in pieces:
        loss = mean_loss(tensors, x, y)
        loss.backward()
        total += loss.item()
    return total, {name: t.grad.numpy() for name, t in tensors.items()}
