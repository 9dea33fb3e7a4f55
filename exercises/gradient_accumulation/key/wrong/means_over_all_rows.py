"""Divides each mean by the rows of all pieces.

expects: its mean was not first multiplied by its own
points: 7
"""


# %% accumulate
def accumulate(params, pieces):
    tensors, total = leaves(params), 0.0
    rows = sum(len(y) for _, y in pieces)
    for x, y in pieces:
        loss = mean_loss(tensors, x, y) * (1 / rows)
        loss.backward()
        total += loss.item()
    return total, {name: t.grad.numpy() for name, t in tensors.items()}
