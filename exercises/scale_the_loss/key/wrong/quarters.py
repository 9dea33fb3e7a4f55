"""Divides the scale by four.

expects: is not half of what it was
points: 9
"""


# %% update_scale
def update_scale(scale, good, finite, interval):
    if not finite:
        if scale <= 1:
            raise FloatingPointError("gradients are not finite at a loss scale of 1")
        return scale / 4, 0
    if good + 1 < interval:
        return scale, good + 1
    return min(2 * scale, 2.0**24), 0
