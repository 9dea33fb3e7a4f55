"""Returns the gradients first, and then the loss.

expects: the loss comes first
points: 9
"""


# %% whole
def whole(params, x, y):
    tensors = leaves(params)
    loss = mean_loss(tensors, x, y)
    loss.backward()
    return {name: t.grad.numpy() for name, t in tensors.items()}, loss.item()
