"""Adds the losses of the padded pieces up and calls backward once, so that all graphs are in memory together.

expects: `accumulate_padded` keeps the graphs of earlier pieces
points: 8
"""


# %% accumulate_padded
def accumulate_padded(params, pieces):
    tensors, total, rows = leaves(params), 0.0, sum((y >= 0).sum() for _, y in pieces)
    for x, y in pieces:
        if (y >= 0).any():
            total = total + mean_loss(tensors, x, y) * ((y >= 0).sum() / rows)
    total.backward()
    return total.item(), {name: t.grad.numpy() for name, t in tensors.items()}
