"""Weighs pieces by their number of labels, as is right for a plain mean.

expects: each piece counts by its number of labels
points: 7.5
"""


# %% accumulate_padded
def accumulate_padded(params, pieces):
    tensors, total = leaves(params), 0.0
    weights = [(y != -1).sum() for _, y in pieces]
    for (x, y), weight in zip(pieces, weights, strict=True):
        if weight:
            loss = mean_loss(tensors, x, y) * (weight / sum(weights))
            loss.backward()
            total += loss.item()
    return total, {name: t.grad.numpy() for name, t in tensors.items()}
