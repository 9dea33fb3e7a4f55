"""Makes up for a summed loss by the learning rate.

expects: for "loss summed", `cure` changes another setting
points: 9
"""

# %% cure
CURES = {
    "healthy": {},
    "rate too high": {"lr": 0.2},
    "rate too low": {"lr": 0.2},
    "never zeroed": {"zero_grad": True},
    "loss summed": {"lr": 0.2 / 32},
    "weights too large": {"init": 1.0},
    "units dead": {"bias": 0.0},
    "layers cut off": {"detach": False},
    "decay too strong": {"weight_decay": 0.0},
    "labels shuffled": {"labels": "right"},
}


def cure(settings, diagnosis):
    return {**settings, **CURES[diagnosis]}
