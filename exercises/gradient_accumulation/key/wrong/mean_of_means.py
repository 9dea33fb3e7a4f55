"""Divides by the number of pieces, whatever their size.

expects: every piece counts alike
points: 7
"""


# %% accumulate
def accumulate(params, pieces):
    tensors, total = leaves(params), 0.0
    for x, y in pieces:
        loss = mean_loss(tensors, x, y) / len(pieces)
        loss.backward()
        total += loss.item()
    return total, {name: t.grad.numpy() for name, t in tensors.items()}
