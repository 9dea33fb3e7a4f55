"""Adds the longest segment to all checkpoints, as the formula for equal layers does.

expects: counts all checkpoints in each turn
points: 9
"""


# %% plan

from itertools import pairwise


def plan(sizes, keep):
    parts = list(pairwise([*keep, len(sizes)]))
    peak = sum(sizes[i] for i in keep) + max(sum(sizes[a + 1 : b]) for a, b in parts)
    return peak, len(sizes) - len(keep)
