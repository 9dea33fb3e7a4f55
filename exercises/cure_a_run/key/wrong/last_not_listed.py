"""Leaves the last diagnosis out of the list.

expects: one diagnosis for each run
points: 8
"""


# %% treat
def treat(settings, run, most):
    found = [diagnose(run(settings))]
    while found[-1] != "healthy" and len(found) < most:
        settings = cure(settings, found[-1])
        found.append(diagnose(run(settings)))
    return settings, found[:-1]
