"""Compares the checkpoints alone with the budget.

expects: the segment that has its turn comes on top
points: 9
"""


# %% choose

from itertools import combinations


def choose(sizes, budget):
    sets = [[0, *others] for m in range(len(sizes)) for others in combinations(range(1, len(sizes)), m)]
    fitting = [keep for keep in sets if sum(sizes[i] for i in keep) <= budget]
    if not fitting:
        raise ValueError("no set of checkpoints fits")
    return max(fitting, key=len)
