"""Wants the peak to be below the budget.

expects: a peak of exactly the budget fits, too
points: 9.75
"""


# %% choose

from itertools import combinations


def choose(sizes, budget):
    sets = [[0, *others] for m in range(len(sizes)) for others in combinations(range(1, len(sizes)), m)]
    fitting = [keep for keep in sets if plan(sizes, keep)[0] < budget]
    if not fitting:
        raise ValueError("no set of checkpoints fits")
    return max(fitting, key=len)
