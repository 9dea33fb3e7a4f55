"""Takes the label 0 for padding.

expects: rows with the label 0
points: 8
"""


# %% accumulate_padded
def accumulate_padded(params, pieces):
    tensors, total = leaves(params), 0.0
    weights = [CLASS_WEIGHTS[y[y > 0]].sum() for _, y in pieces]
    for (x, y), weight in zip(pieces, weights, strict=True):
        if weight:
            loss = mean_loss(tensors, x, y) * (weight / sum(weights))
            loss.backward()
            total += loss.item()
    return total, {name: t.grad.numpy() for name, t in tensors.items()}
