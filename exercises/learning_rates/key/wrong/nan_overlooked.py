"""Compares the last loss with the first, which nan survives.

expects: nan or inf is overlooked
points: 9.5
"""


# %% diverged
def diverged(runs):
    return [name for name, losses in runs.items() if losses[-1] > losses[0]]
