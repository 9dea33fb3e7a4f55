"""Cuts the names short.

expects: have lost their `aten::`
points: 8
"""

import torch


# %% calls
def calls(step):
    step()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        step()
    return {row.key.removeprefix("aten::"): row.count for row in profile.key_averages()}
