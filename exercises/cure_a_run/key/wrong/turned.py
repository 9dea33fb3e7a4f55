"""Returns the diagnoses first.

expects: a dict, and then the diagnoses
points: 7.5
"""


# %% treat
def treat(settings, run, most):
    found = [diagnose(run(settings))]
    while found[-1] != "healthy" and len(found) < most:
        settings = cure(settings, found[-1])
        found.append(diagnose(run(settings)))
    return found, settings
