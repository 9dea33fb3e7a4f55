"""Halves the scale below 1.

expects: goes on after an overflow at a scale of 1
points: 9.5
"""


# %% update_scale
def update_scale(scale, good, finite, interval):
    if not finite:
        return scale / 2, 0
    if good + 1 < interval:
        return scale, good + 1
    return min(2 * scale, 2.0**24), 0
