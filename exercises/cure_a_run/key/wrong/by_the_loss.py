"""Looks at the loss alone.

expects: says "labels shuffled" of a run that is "units dead"
points: 6.5
"""


# %% diagnose
def diagnose(record):
    loss = record["loss"]
    if loss[0] > 14:
        return "loss summed"
    if not loss.max() < 10:
        return "rate too high"
    return "labels shuffled" if loss[-10:].mean() > 1.1 else "healthy"
