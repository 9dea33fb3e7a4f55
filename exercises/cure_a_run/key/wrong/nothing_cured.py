"""Returns a copy of the settings.

expects: `cure` changes nothing
points: 7.5
"""

# %% cure
CURES = {
    "healthy": {},
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
    return dict(settings)
