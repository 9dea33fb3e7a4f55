"""Adds up the checkpoints alone.

expects: counts the checkpoints alone
points: 9
"""


# %% plan
def plan(sizes, keep):
    peak = sum(sizes[i] for i in keep)
    return peak, len(sizes) - len(keep)
