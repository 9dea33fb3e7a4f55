"""Leaves out the largest inputs, one after the other, until the peak fits.

expects: raises a ValueError for a budget that some set fits
points: 9
"""


# %% choose
def choose(sizes, budget):
    order = sorted(range(1, len(sizes)), key=sizes.__getitem__)
    for m in reversed(range(len(sizes))):
        keep = [0, *sorted(order[:m])]
        if plan(sizes, keep)[0] <= budget:
            return keep
    raise ValueError("no set of checkpoints fits")
