"""Weighs each piece by its rows, and forgets to divide by all of them.

expects: that of the sum over the rows
points: 7
"""


# %% accumulate
def accumulate(params, pieces):
    tensors, total = leaves(params), 0.0
    for x, y in pieces:
        loss = mean_loss(tensors, x, y) * len(y)
        loss.backward()
        total += loss.item()
    return total, {name: t.grad.numpy() for name, t in tensors.items()}
