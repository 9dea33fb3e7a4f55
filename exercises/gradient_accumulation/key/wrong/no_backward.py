"""Reads gradients that nobody computed.

expects: is None, as .grad is until a backward() has filled it
points: 9
"""


# %% whole
def whole(params, x, y):
    tensors = leaves(params)
    loss = mean_loss(tensors, x, y)
    return loss.item(), {name: t.grad for name, t in tensors.items()}
