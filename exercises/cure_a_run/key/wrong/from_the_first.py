"""Cures the first settings again and again.

expects: forgets a cure
points: 9
"""


# %% treat
def treat(settings, run, most):
    found = [diagnose(run(settings))]
    while found[-1] != "healthy" and len(found) < most:
        now = cure(settings, found[-1])
        found.append(diagnose(run(now)))
    return now if len(found) > 1 else settings, found
