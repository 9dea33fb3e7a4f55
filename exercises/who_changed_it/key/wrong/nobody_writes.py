"""Lazy: says that nobody writes.

expects: overlooks a module that writes into the model's own input
points: 6.5
"""


# %% writers
def writers(model, x):
    model(x.clone())
    return {}
