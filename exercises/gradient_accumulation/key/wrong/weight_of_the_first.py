"""Divides as if all pieces had the class weights of the first.

expects: as if all counted as much as the first
points: 7
"""


# %% accumulate
def accumulate(params, pieces):
    tensors, total = leaves(params), 0.0
    weights = [CLASS_WEIGHTS[y].sum() for _, y in pieces]
    for (x, y), weight in zip(pieces, weights, strict=True):
        loss = mean_loss(tensors, x, y) * (weight / (weights[0] * len(weights)))
        loss.backward()
        total += loss.item()
    return total, {name: t.grad.numpy() for name, t in tensors.items()}
