"""Looks only at names that both dicts have.

expects: leaves out what is missing from the first dict
points: 9.5
"""


# %% growing
def growing(small, large):
    grown = {name: large[name] - small[name] for name in small if name in large}
    return sorted((name for name in grown if grown[name] > 0), key=lambda name: -grown[name])
