"""Warms up inside of what records.

expects: record one run, not two
points: 8
"""

import torch


# %% calls
def calls(step):
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        step()
        step()
    return {row.key: row.count for row in profile.key_averages()}
