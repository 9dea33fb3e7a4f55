"""Returns nothing for a healthy run.

expects: None, as happens
points: 9.5
"""

import math


# %% diagnose
def diagnose(record):
    loss, norm, ratio, gain, dead = (record[name] for name in ("loss", "norm", "ratio", "gain", "dead"))
    guess = math.log(4)
    if gain[:, 0].max() > 2:
        return "weights too large"
    if dead[:, 0].max() > 0.8:
        return "units dead"
    if norm[0].max() == 0:
        return "layers cut off"
    if loss[0] > 10 * guess:
        return "loss summed"
    if gain[:, -1].max() < 0.5:
        return "decay too strong"
    if ratio[:, 0].max() > 0.7:
        return "rate too high"
    if ratio.max() < 1e-3:
        return "rate too low"
    if norm[:, 4].sum() > 1.7 * norm[:, 0].sum():
        return "never zeroed"
    if loss[-10:].mean() > 1.1:
        return "labels shuffled"
    return None
