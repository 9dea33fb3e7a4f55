"""Goes on until a run is healthy, however many that takes.

expects: `treat` goes on long after `most` runs
points: 9
"""


# %% treat
def treat(settings, run, most):
    found = [diagnose(run(settings))]
    while found[-1] != "healthy":
        settings = cure(settings, found[-1])
        found.append(diagnose(run(settings)))
    return settings, found
