"""Does not begin the count again after an overflow.

expects: counts finite steps from before an overflow
points: 9.5
"""


# %% update_scale
def update_scale(scale, good, finite, interval):
    if not finite:
        if scale <= 1:
            raise FloatingPointError("gradients are not finite at a loss scale of 1")
        return scale / 2, good
    if good + 1 < interval:
        return scale, good + 1
    return min(2 * scale, 2.0**24), 0
