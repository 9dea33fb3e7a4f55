"""Asks for the mean of a piece in which nothing counts.

expects: a mean over nothing is nan
points: 9.5
"""


# %% accumulate_padded
def accumulate_padded(params, pieces):
    tensors, total = leaves(params), 0.0
    labels = sum((y != -1).sum() for _, y in pieces)
    for x, y in pieces:
        loss = mean_loss(tensors, x, y) * float((y != -1).sum() / labels)
        loss.backward()
        total += loss.item()
    return total, {name: t.grad.numpy() for name, t in tensors.items()}
