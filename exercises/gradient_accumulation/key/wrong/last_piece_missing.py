"""Leaves out the last piece.

expects: the last piece is missing
points: 6.5
"""


# %% accumulate
def accumulate(params, pieces):
    tensors, total = leaves(params), 0.0
    weights = [CLASS_WEIGHTS[y].sum() for _, y in pieces]
    for (x, y), weight in zip(pieces[:-1], weights[:-1], strict=True):
        loss = mean_loss(tensors, x, y) * (weight / sum(weights))
        loss.backward()
        total += loss.item()
    return total, {name: t.grad.numpy() for name, t in tensors.items()}
