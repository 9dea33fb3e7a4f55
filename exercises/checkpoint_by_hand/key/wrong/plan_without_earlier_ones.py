"""Leaves out the checkpoints of earlier segments.

expects: leaves out the checkpoints of earlier segments
points: 9
"""


# %% plan

from itertools import pairwise


def plan(sizes, keep):
    parts = list(pairwise([*keep, len(sizes)]))
    peak = max(sum(sizes[a:b]) for a, b in parts)
    return peak, len(sizes) - len(keep)
