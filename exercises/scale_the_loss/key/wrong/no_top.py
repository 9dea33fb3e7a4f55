"""Lets the scale grow without an end.

expects: goes above 2**24
points: 9.5
"""


# %% update_scale
def update_scale(scale, good, finite, interval):
    if not finite:
        if scale <= 1:
            raise FloatingPointError("gradients are not finite at a loss scale of 1")
        return scale / 2, 0
    if good + 1 < interval:
        return scale, good + 1
    return 2 * scale, 0
