"""Takes the last segment for the worst.

expects: looks at the last segment alone
points: 9
"""


# %% plan
def plan(sizes, keep):
    peak = sum(sizes[i] for i in keep[:-1]) + sum(sizes[keep[-1] :])
    return peak, len(sizes) - len(keep)
