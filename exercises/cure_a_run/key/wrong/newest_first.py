"""Puts the newest diagnosis first.

expects: not in the order of the runs
points: 8.5
"""


# %% treat
def treat(settings, run, most):
    found = [diagnose(run(settings))]
    while found[-1] != "healthy" and len(found) < most:
        settings = cure(settings, found[-1])
        found.append(diagnose(run(settings)))
    return settings, found[::-1]
