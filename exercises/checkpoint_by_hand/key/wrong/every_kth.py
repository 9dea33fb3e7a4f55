"""Looks at every k-th layer alone.

expects: looks at every k-th layer alone
points: 9
"""


# %% choose
def choose(sizes, budget):
    for k in range(1, len(sizes) + 1):
        keep = list(range(0, len(sizes), k))
        if plan(sizes, keep)[0] <= budget:
            return keep
    raise ValueError("no set of checkpoints fits")
