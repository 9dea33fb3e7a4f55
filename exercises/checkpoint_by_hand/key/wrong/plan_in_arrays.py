"""Counts arrays, as if all had one size.

expects: counts arrays: add up their bytes
points: 9
"""


# %% plan

from itertools import pairwise


def plan(sizes, keep):
    parts = list(pairwise([*keep, len(sizes)]))
    peak = max(sum(i < a for i in keep) + b - a for a, b in parts)
    return peak, len(sizes) - len(keep)
