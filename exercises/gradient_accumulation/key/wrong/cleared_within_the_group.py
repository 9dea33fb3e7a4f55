"""Divides each piece by their number, and clears the gradients before each, so that only the last is left.

expects: each step uses the last piece of its group alone
points: 7
"""


# %% train
def train(params, pieces, rate, every):
    from course_lib.autograd import optim

    tensors = leaves(params)
    optimizer = optim.SGD(list(tensors.values()), lr=rate)
    for i, (x, y) in enumerate(pieces, 1):
        optimizer.zero_grad()
        (mean_loss(tensors, x, y) / every).backward()
        if i % every == 0 or i == len(pieces):
            optimizer.step()
    return {name: t.detach().numpy() for name, t in tensors.items()}
