"""Weighs pieces by their rows, padding included.

expects: the padding among them does not count
points: 7.5
"""


# %% accumulate_padded
def accumulate_padded(params, pieces):
    tensors, total = leaves(params), 0.0
    rows = sum(len(y) for _, y in pieces)
    for x, y in pieces:
        if (y != -1).any():
            loss = mean_loss(tensors, x, y) * (len(y) / rows)
            loss.backward()
            total += loss.item()
    return total, {name: t.grad.numpy() for name, t in tensors.items()}
