"""Weighs pieces by their rows, padding included.

expects: each piece counts by its rows, padding included
points: 7.5
"""


# %% accumulate_padded
def accumulate_padded(params, pieces):
    tensors, total = leaves(params), 0.0
    weights = [len(y) for _, y in pieces]
    for (x, y), weight in zip(pieces, weights, strict=True):
        if (y != -1).any():
            loss = mean_loss(tensors, x, y) * (weight / sum(weights))
            loss.backward()
            total += loss.item()
    return total, {name: t.grad.numpy() for name, t in tensors.items()}
