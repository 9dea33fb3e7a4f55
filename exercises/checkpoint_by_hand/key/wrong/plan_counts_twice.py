"""Counts the checkpoint of the segment that has its turn twice.

expects: counts the checkpoint of a segment twice
points: 9
"""


# %% plan

from itertools import pairwise


def plan(sizes, keep):
    parts = list(pairwise([*keep, len(sizes)]))
    peak = max(sum(sizes[i] for i in keep if i <= a) + sum(sizes[a:b]) for a, b in parts)
    return peak, len(sizes) - len(keep)
