"""Takes the weight of the last class for each row of padding, as an index of -1 does.

expects: an index of -1 takes the last class
points: 7.5
"""


# %% accumulate_padded
def accumulate_padded(params, pieces):
    tensors, total = leaves(params), 0.0
    weights = [CLASS_WEIGHTS[y].sum() for _, y in pieces]
    for (x, y), weight in zip(pieces, weights, strict=True):
        if (y != -1).any():
            loss = mean_loss(tensors, x, y) * (weight / sum(weights))
            loss.backward()
            total += loss.item()
    return total, {name: t.grad.numpy() for name, t in tensors.items()}
