"""Divides the weighted sums by the rows.

expects: it is divided by a number of rows
points: 7
"""


# %% accumulate
def accumulate(params, pieces):
    tensors, total = leaves(params), 0.0
    weights = [CLASS_WEIGHTS[y].sum() for _, y in pieces]
    for (x, y), weight in zip(pieces, weights, strict=True):
        loss = mean_loss(tensors, x, y) * (weight / sum(len(y) for _, y in pieces))
        loss.backward()
        total += loss.item()
    return total, {name: t.grad.numpy() for name, t in tensors.items()}
