"""Returns sums of squared errors, though the steps use the mean.

expects: the losses are not the mean squared error
points: 8
"""


# %% descend
def descend(x, y, w, rate, steps):
    losses = [((x @ w - y) ** 2).sum()]
    for _ in range(steps):
        w = w - rate * 2 * x.T @ (x @ w - y) / len(x)
        losses.append(((x @ w - y) ** 2).sum())
    return w, losses
