"""Sorts by the calls in the larger profile.

expects: in the order of their calls
points: 9.5
"""


# %% growing
def growing(small, large):
    grown = [name for name in large if large[name] > small.get(name, 0)]
    return sorted(grown, key=lambda name: -large[name])
