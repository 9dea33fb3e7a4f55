"""Makes all runs that it may.

expects: goes on after a run was healthy
points: 8.5
"""


# %% treat
def treat(settings, run, most):
    found = [diagnose(run(settings))]
    while len(found) < most:
        settings = cure(settings, found[-1])
        found.append(diagnose(run(settings)))
    return settings, found
