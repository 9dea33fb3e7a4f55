"""Makes a run more than it may.

expects: makes more runs than `most` allows
points: 9
"""


# %% treat
def treat(settings, run, most):
    found = [diagnose(run(settings))]
    while found[-1] != "healthy" and len(found) <= most:
        settings = cure(settings, found[-1])
        found.append(diagnose(run(settings)))
    return settings, found
