"""Clears the gradients before each piece.

expects: only the last piece is left
points: 7
"""


# %% accumulate
def accumulate(params, pieces):
    tensors, total = leaves(params), 0.0
    rows = sum(len(y) for _, y in pieces)
    for x, y in pieces:
        for t in tensors.values():
            t.grad = None
        loss = mean_loss(tensors, x, y)
        loss.backward()
        total += loss.item() * len(y) / rows
    return total, {name: t.grad.numpy() for name, t in tensors.items()}
