"""Clears the gradients before each piece of a group, so that only the last is left.

expects: each step uses the last piece of its group alone
points: 7
"""


# %% train
def train(params, pieces, rate, every):
    from course_lib.autograd import optim

    tensors = leaves(params)
    optimizer = optim.SGD(list(tensors.values()), lr=rate)
    for start in range(0, len(pieces), every):
        group = pieces[start : start + every]
        weights = sum(CLASS_WEIGHTS[y].sum() for _, y in group)
        for x, y in group:
            optimizer.zero_grad()
            (mean_loss(tensors, x, y) * (CLASS_WEIGHTS[y].sum() / weights)).backward()
        optimizer.step()
    return {name: t.detach().numpy() for name, t in tensors.items()}
