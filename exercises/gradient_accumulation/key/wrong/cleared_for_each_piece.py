"""Clears the gradients before each piece.

expects: only the last piece is left
points: 7
"""


# %% accumulate
def accumulate(params, pieces):
    tensors, total = leaves(params), 0.0
    weights = [CLASS_WEIGHTS[y].sum() for _, y in pieces]
    for (x, y), weight in zip(pieces, weights, strict=True):
        for t in tensors.values():
            t.grad = None
        loss = mean_loss(tensors, x, y) * (weight / sum(weights))
        loss.backward()
        total += loss.item()
    return total, {name: t.grad.numpy() for name, t in tensors.items()}
