"""Chooses the set with the lowest peak, whatever the budget.

expects: returns the set with the least memory
points: 9.25
"""


# %% choose

from itertools import combinations


def choose(sizes, budget):
    sets = [[0, *others] for m in range(len(sizes)) for others in combinations(range(1, len(sizes)), m)]
    keep = min(sets, key=lambda keep: plan(sizes, keep))
    if plan(sizes, keep)[0] > budget:
        raise ValueError("no set of checkpoints fits")
    return keep
