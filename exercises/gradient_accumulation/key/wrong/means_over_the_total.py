"""Divides each mean by the class weights of all pieces.

expects: is each mean, and it was not multiplied first
points: 7
"""


# %% accumulate
def accumulate(params, pieces):
    tensors, total = leaves(params), 0.0
    weights = [CLASS_WEIGHTS[y].sum() for _, y in pieces]
    for x, y in pieces:
        loss = mean_loss(tensors, x, y) * (1 / sum(weights))
        loss.backward()
        total += loss.item()
    return total, {name: t.grad.numpy() for name, t in tensors.items()}
