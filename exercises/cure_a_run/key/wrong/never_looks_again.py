"""Cures all that it can find, and makes no second run.

expects: stops after fewer than three runs, though
points: 7.5
"""


# %% treat
def treat(settings, run, most):
    found = [diagnose(run(settings))]
    return cure(settings, found[0]), found
