"""Lazy: says that nobody's tensor was written to.

expects: whose result was overwritten, so what it spares
points: 7
"""


# %% stale
def stale(model, x):
    model(x.clone())
    return []
