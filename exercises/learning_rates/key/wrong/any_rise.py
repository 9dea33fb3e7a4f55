"""Takes every rise of the loss for divergence.

expects: a run that rises on the way and ends below its start
points: 9
"""

import numpy as np


# %% diverged
def diverged(runs):
    return [name for name, losses in runs.items() if not np.all(np.diff(losses) <= 0)]
