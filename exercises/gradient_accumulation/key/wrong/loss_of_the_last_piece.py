"""Returns the loss of the last piece.

expects: the gradient is right, but the loss is not
points: 7
"""


# %% accumulate
def accumulate(params, pieces):
    tensors = leaves(params)
    rows = sum(len(y) for _, y in pieces)
    for x, y in pieces:
        loss = mean_loss(tensors, x, y)
        (loss * (len(y) / rows)).backward()
    return loss.item(), {name: t.grad.numpy() for name, t in tensors.items()}
