"""Groups the rows by shape and lets one overwrite the other.

expects: one overwrites the other
points: 9
"""

import torch


# %% calls
def calls(step):
    step()
    with torch.profiler.profile(record_shapes=True) as profile:
        step()
    return {row.key: row.count for row in profile.key_averages(group_by_input_shape=True)}
