"""Prints the loss and the gradients, and returns nothing.

expects: `accumulate` must return two things, the loss and the gradients; it returned None
points: 6.5
"""


# %% accumulate
def accumulate(params, pieces):
    tensors, total = leaves(params), 0.0
    rows = sum(len(y) for _, y in pieces)
    for x, y in pieces:
        loss = mean_loss(tensors, x, y) * (len(y) / rows)
        loss.backward()
        total += loss.item()
    print(total, {name: t.grad.numpy() for name, t in tensors.items()})
