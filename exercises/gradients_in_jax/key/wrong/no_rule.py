"""Lazy: returns x, and has no rule of its own.

expects: it has no rule of its own
points: 6.5
"""


# %% limit
def limit(x, bound):
    return x
