"""Takes half of a decay that is too strong.

expects: with the cure for "decay too strong"
points: 9.5
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
    if diagnosis == "decay too strong":
        return {**settings, "weight_decay": settings["weight_decay"] / 2}
    return {**settings, **CURES[diagnosis]}
