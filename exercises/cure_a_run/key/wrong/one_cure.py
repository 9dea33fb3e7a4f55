"""Cures once.

expects: stops after fewer than three runs
points: 8.5
"""


# %% treat
def treat(settings, run, most):
    found = [diagnose(run(settings))]
    if found[-1] != "healthy" and len(found) < most:
        settings = cure(settings, found[-1])
        found.append(diagnose(run(settings)))
    return settings, found
