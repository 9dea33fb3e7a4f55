"""Leaves out the last piece.

expects: the last piece is missing
points: 6.5
"""


# %% accumulate
def accumulate(params, pieces):
    tensors, total = leaves(params), 0.0
    rows = sum(len(y) for _, y in pieces)
    for x, y in pieces[:-1]:
        loss = mean_loss(tensors, x, y) * (len(y) / rows)
        loss.backward()
        total += loss.item()
    return total, {name: t.grad.numpy() for name, t in tensors.items()}
