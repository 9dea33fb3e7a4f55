"""Lazy: returns the settings of the healthy run.

expects: returns the settings of a healthy run, whatever it is given
points: 7.5
"""


# %% cure
def cure(settings, diagnosis):
    return dict(HEALTHY)
