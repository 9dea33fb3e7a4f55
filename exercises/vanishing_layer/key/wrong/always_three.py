"""Names layer 3, the one of the check, whatever comes in.

expects: which counts as healthy
points: 5.5
"""


# %% verdict
def verdict(layers, x, y):
    return 3
