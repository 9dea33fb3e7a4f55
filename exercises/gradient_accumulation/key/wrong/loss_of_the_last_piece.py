"""Returns the loss of the last piece.

expects: the gradient is right, but the loss is not
points: 7
"""


# %% accumulate
def accumulate(params, pieces):
    tensors = leaves(params)
    weights = [CLASS_WEIGHTS[y].sum() for _, y in pieces]
    for (x, y), weight in zip(pieces, weights, strict=True):
        loss = mean_loss(tensors, x, y)
        (loss * (weight / sum(weights))).backward()
    return loss.item(), {name: t.grad.numpy() for name, t in tensors.items()}
