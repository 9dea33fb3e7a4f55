"""Divides as if all pieces had the rows of the first.

expects: as if all had the rows of the first
points: 8
"""


# %% accumulate
def accumulate(params, pieces):
    tensors, total = leaves(params), 0.0
    rows = len(pieces[0][1]) * len(pieces)
    for x, y in pieces:
        loss = mean_loss(tensors, x, y) * (len(y) / rows)
        loss.backward()
        total += loss.item()
    return total, {name: t.grad.numpy() for name, t in tensors.items()}
