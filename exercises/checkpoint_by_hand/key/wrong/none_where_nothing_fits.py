"""Returns None where no set fits.

expects: `choose` returns nothing: raise a ValueError
points: 9.75
"""


# %% choose

from itertools import combinations


def choose(sizes, budget):
    sets = [[0, *others] for m in range(len(sizes)) for others in combinations(range(1, len(sizes)), m)]
    return max((keep for keep in sets if plan(sizes, keep)[0] <= budget), key=len, default=None)
