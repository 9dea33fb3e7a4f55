"""Resets the learning rate of a healthy run.

expects: for "healthy", `cure` changes a setting
points: 9.5
"""

# %% cure
CURES = {
    "healthy": {"lr": 0.2},
    "rate too high": {"lr": 0.2},
    "rate too low": {"lr": 0.2},
    "never zeroed": {"zero_grad": True},
    "loss summed": {"reduction": "mean"},
    "weights too large": {"init": 1.0},
    "units dead": {"bias": 0.0},
    "layers cut off": {"detach": False},
    "decay too strong": {"weight_decay": 0.0},
    "labels shuffled": {"labels": "right"},
}


def cure(settings, diagnosis):
    return {**settings, **CURES[diagnosis]}
