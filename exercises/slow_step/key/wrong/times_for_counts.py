"""Returns the time of each name.

expects: returns times, or means
points: 9
"""

import torch


# %% calls
def calls(step):
    step()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        step()
    return {row.key: row.cpu_time_total for row in profile.key_averages()}
