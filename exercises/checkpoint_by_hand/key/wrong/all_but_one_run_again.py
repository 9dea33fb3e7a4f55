"""Says that all layers but the last one run again.

expects: counts all layers but one
points: 9.5
"""


# %% plan

from itertools import pairwise


def plan(sizes, keep):
    marks, peak, earlier = [*keep, len(sizes)], 0, 0
    for start, stop in pairwise(marks):
        peak = max(peak, earlier + sum(sizes[start:stop]))
        earlier += sizes[start]
    return peak, len(sizes) - 1
