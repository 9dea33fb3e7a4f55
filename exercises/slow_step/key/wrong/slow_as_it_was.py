"""Calls the slow step.

expects: this is the slow step as it was
points: 3
"""


# %% fast_step
def fast_step(params, x, y, rate):
    return slow_step(params, x, y, rate)
