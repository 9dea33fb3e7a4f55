"""Resets the learning rate along with whatever is sick.

expects: settings that the diagnosis is not about
points: 9
"""

# %% cure
CURES = {
    "healthy": {},
    "rate too high": {},
    "rate too low": {},
    "never zeroed": {"zero_grad": True},
    "loss summed": {"reduction": "mean"},
    "weights too large": {"init": 1.0},
    "units dead": {"bias": 0.0},
    "layers cut off": {"detach": False},
    "decay too strong": {"weight_decay": 0.0},
    "labels shuffled": {"labels": "right"},
}


def cure(settings, diagnosis):
    return {**settings, "lr": 0.2, **CURES[diagnosis]}
