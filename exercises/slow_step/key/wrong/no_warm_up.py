"""Records the very first run.

expects: warm up first, with a run that is not recorded
points: 9
"""

import torch


# %% calls
def calls(step):
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        step()
    return {row.key: row.count for row in profile.key_averages()}
