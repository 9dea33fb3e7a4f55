"""Weighs each piece by its class weights, and forgets to divide by all of them.

expects: that of the sum over the rows
points: 7
"""


# %% accumulate
def accumulate(params, pieces):
    tensors, total = leaves(params), 0.0
    weights = [CLASS_WEIGHTS[y].sum() for _, y in pieces]
    for (x, y), weight in zip(pieces, weights, strict=True):
        loss = mean_loss(tensors, x, y) * (weight)
        loss.backward()
        total += loss.item()
    return total, {name: t.grad.numpy() for name, t in tensors.items()}
