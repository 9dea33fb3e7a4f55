"""Sorts by name.

expects: in the order of the alphabet
points: 9.5
"""


# %% growing
def growing(small, large):
    return sorted(name for name in large if large[name] > small.get(name, 0))
