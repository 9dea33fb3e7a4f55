"""Asks for the mean of a piece in which nothing counts.

expects: a mean over nothing is nan
points: 9.5
"""


# %% accumulate_padded
def accumulate_padded(params, pieces):
    tensors, total = leaves(params), 0.0
    weights = [CLASS_WEIGHTS[y[y != -1]].sum() for _, y in pieces]
    for (x, y), weight in zip(pieces, weights, strict=True):
        loss = mean_loss(tensors, x, y) * (weight / sum(weights))
        loss.backward()
        total += loss.item()
    return total, {name: t.grad.numpy() for name, t in tensors.items()}
