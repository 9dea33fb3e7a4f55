"""Prints the loss and the gradients, and returns nothing.

expects: `accumulate` must return two things, the loss and the gradients; it returned None
points: 6.5
"""


# %% accumulate
def accumulate(params, pieces):
    tensors, total = leaves(params), 0.0
    weights = [CLASS_WEIGHTS[y].sum() for _, y in pieces]
    for (x, y), weight in zip(pieces, weights, strict=True):
        loss = mean_loss(tensors, x, y) * (weight / sum(weights))
        loss.backward()
        total += loss.item()
    print(total, {name: t.grad.numpy() for name, t in tensors.items()})
