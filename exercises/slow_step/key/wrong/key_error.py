"""Expects every name in both dicts.

expects: a name may be in one dict alone
points: 9.5
"""


# %% growing
def growing(small, large):
    grown = {name: count - small[name] for name, count in large.items()}
    return sorted((name for name in grown if grown[name] > 0), key=lambda name: -grown[name])
