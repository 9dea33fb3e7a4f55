"""Cures once more after the last run.

expects: settings that it has not tried
points: 9.5
"""


# %% treat
def treat(settings, run, most):
    found = []
    for _ in range(most):
        found.append(diagnose(run(settings)))
        if found[-1] == "healthy":
            break
        settings = cure(settings, found[-1])
    return settings, found
