"""Calls every run healthy.

expects: of a run that is "layers cut off", too
points: 5
"""


# %% diagnose
def diagnose(record):
    return "healthy"
