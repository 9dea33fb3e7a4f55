"""Takes the names and counts from the printed table.

expects: that is text for people
points: 8
"""

import torch


# %% calls
def calls(step):
    step()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        step()
    text = profile.key_averages().table(row_limit=-1, max_name_column_width=200)
    rows = [line.split() for line in text.splitlines()]
    return {row[0]: int(row[-1]) for row in rows if len(row) > 3 and row[-1].isdigit()}
