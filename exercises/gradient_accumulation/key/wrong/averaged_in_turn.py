"""Averages each gradient with the mean so far.

expects: a late piece counts more than an early one
points: 7
"""


# %% accumulate
def accumulate(params, pieces):
    mean, loss_mean = None, 0.0
    for i, (x, y) in enumerate(pieces):
        loss, grads = whole(params, x, y)
        mean = grads if mean is None else {n: (mean[n] + grads[n]) / 2 for n in grads}
        loss_mean = loss if i == 0 else (loss_mean + loss) / 2
    return loss_mean, mean
