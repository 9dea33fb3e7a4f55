"""Divides a learning rate by ten, however high it is.

expects: with the cure for "rate too high" the run is not healthy
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
    if diagnosis == "rate too high":
        return {**settings, "lr": settings["lr"] / 10}
    return {**settings, **CURES[diagnosis]}
