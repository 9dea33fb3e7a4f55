"""Takes the label 0 for padding.

expects: rows with the label 0
points: 8
"""


# %% accumulate_padded
def accumulate_padded(params, pieces):
    tensors, total = leaves(params), 0.0
    counts = [int((y > 0).sum()) for _, y in pieces]
    for (x, y), c in zip(pieces, counts, strict=True):
        if c:
            loss = mean_loss(tensors, x, y) * (c / sum(counts))
            loss.backward()
            total += loss.item()
    return total, {n: t.grad.numpy() for n, t in tensors.items()}
