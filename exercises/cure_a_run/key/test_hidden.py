"""Hidden tests of cure_a_run: each tells the learner which mistake it found, never a value."""

import numpy as np
import pytest

from course_grader import Mistake, expect, points, rests_on

HEALTHY = {
    "lr": 0.2,
    "zero_grad": True,
    "reduction": "mean",
    "init": 1.0,
    "bias": 0.0,
    "detach": False,
    "weight_decay": 0.0,
    "labels": "right",
}
SETTING = {
    "rate too high": "lr",
    "rate too low": "lr",
    "never zeroed": "zero_grad",
    "loss summed": "reduction",
    "weights too large": "init",
    "units dead": "bias",
    "layers cut off": "detach",
    "decay too strong": "weight_decay",
    "labels shuffled": "labels",
}
NAMES = ["healthy", *SETTING]
LOOK = {
    "healthy": "find the bound of yours that several healthy runs break, and widen it",
    "rate too high": "weights, units and gradients are fine at step 1, and its first update is as large as a weight",
    "rate too low": "its gradients are of the usual size, and no update moves a weight by even a thousandth",
    "never zeroed": "its first update is as usual, and its gradients grow from step to step by about one gradient",
    "loss summed": "its loss at step 1 is 32 times that of a guess, and its weights are of the right size",
    "weights too large": "its gains are far above 1 before any update, and whatever else is large follows from that",
    "units dead": "no hidden unit is above 0 at step 1, before any update",
    "layers cut off": "two layers have a gradient of 0 at every step, though their units are alive",
    "decay too strong": "its gains go to 0, and its gradients fade with them",
    "labels shuffled": "its gradients, gains, updates and units are healthy, and its loss stays at that of a guess",
}
RIGHT_DIAGNOSE = """
import numpy as np

def diagnose(record):
    loss, norm, ratio, gain, dead = (np.asarray(record[name]) for name in ("loss", "norm", "ratio", "gain", "dead"))
    if gain[:, 0].max() > 2:
        return "weights too large"
    if dead[:, 0].max() > 0.8:
        return "units dead"
    if norm[0].max() == 0:
        return "layers cut off"
    if loss[0] > 14:
        return "loss summed"
    if gain[:, -1].max() < 0.5:
        return "decay too strong"
    if ratio[:, 0].max() > 0.7:
        return "rate too high"
    if ratio.max() < 1e-3:
        return "rate too low"
    if norm[:, 4].sum() > 1.7 * norm[:, 0].sum():
        return "never zeroed"
    return "labels shuffled" if loss[-10:].mean() > 1.1 else "healthy"
"""
RIGHT_CURE = """
def cure(settings, diagnosis):
    cured = {
        "rate too high": {"lr": 0.2}, "rate too low": {"lr": 0.2}, "never zeroed": {"zero_grad": True},
        "loss summed": {"reduction": "mean"}, "weights too large": {"init": 1.0}, "units dead": {"bias": 0.0},
        "layers cut off": {"detach": False}, "decay too strong": {"weight_decay": 0.0},
        "labels shuffled": {"labels": "right"},
    }
    return {**settings, **cured.get(diagnosis, {})}
"""


def draw(rng, name):
    """Draw settings with this fault; a healthy run's differ from one to the next as well, and from HEALTHY."""
    healthy = {"lr": round(rng.uniform(0.12, 0.28), 3) + 0.0005, "init": round(rng.uniform(0.92, 1.08), 3) + 0.0005}
    settings = HEALTHY | healthy
    return (
        settings
        | {
            "healthy": {},
            "rate too high": {"lr": round(rng.uniform(20, 60), 1)},
            "rate too low": {"lr": float(10 ** rng.uniform(-4.5, -3.6))},
            "never zeroed": {"zero_grad": False},
            "loss summed": {"reduction": "sum"},
            "weights too large": {"init": round(rng.uniform(3.5, 8), 2)},
            "units dead": {"bias": -round(rng.uniform(9, 20), 1)},
            "layers cut off": {"detach": True},
            "decay too strong": {"weight_decay": round(rng.uniform(1.2, 3), 2)},
            "labels shuffled": {"labels": "shuffled"},
        }[name]
    )


def is_telling(name, record):
    """Tell whether a run shows the signs of its fault so clearly that every sensible bound sees them."""
    loss, norm, ratio, gain, dead = (record[key] for key in ("loss", "norm", "ratio", "gain", "dead"))
    fine = 1 < loss[0] < 2.5 and dead[:, 0].max() < 0.15 and gain[:, 0].max() < 1.3
    fine = fine and (name == "decay too strong" or 0.004 < ratio[-1, 0] < 0.3 or "rate" in name)
    end = np.nanmean(loss[-10:]) if np.isfinite(loss[-10:]).any() else np.inf
    signs = {
        "healthy": fine and end < 0.75 and norm[:, :20].max() < 4 and norm[:, 4].sum() < 1.2 * norm[:, 0].sum(),
        "rate too high": 1 < loss[0] < 2.5 and ratio[:, 0].max() > 1.2 and not loss[1:10].max() < 10,
        "rate too low": 1 < loss[0] < 2.5 and ratio.max() < 6e-4 and end > 1.2,
        "never zeroed": fine and norm[:, 4].sum() > 1.95 * norm[:, 0].sum() and end > 0.9,
        "loss summed": 32 < loss[0] < 80,
        "weights too large": gain[:, 0].min() > 2.5 and loss[0] > 6,
        "units dead": dead[:, 0].min() == 1,
        "layers cut off": dead[:, 0].max() < 0.15 and dead.max() < 0.4 and end < 1.25,
        "decay too strong": gain[:, -1].max() < 0.05 and abs(end - np.log(4)) < 0.1 and 1 < loss[0] < 2.5,
        "labels shuffled": fine and 1.3 < end < 1.6 and norm[:, 4].sum() < 1.3 * norm[:, 0].sum(),
    }
    return bool(signs[name])


def a_run(learner, rng, name):
    """Return a record whose fault can be told, and its settings and seed."""
    while True:
        settings, seed = draw(rng, name), int(rng.integers(10**6))
        record = learner.call("run", settings, seed)
        if is_telling(name, record):
            return record, settings, seed


def diagnosis(learner, record):
    said = learner.call("diagnose", record)
    if not isinstance(said, str):
        raise Mistake(f"`diagnose` returned {expect.describe(said)}; it must return a name")
    if said not in NAMES:
        raise Mistake("`diagnose` returns a name that is none of the ten: letter for letter those of the table")
    return said


# 1. Diagnose.


@points(0.5)
@pytest.mark.parametrize(
    "name",
    [
        "healthy",
        "rate too high",
        "rate too low",
        "never zeroed",
        "loss summed",
        "weights too large",
        "units dead",
        "layers cut off",
        "decay too strong",
        "labels shuffled",
    ],
)
def test_diagnose(learner, rng, name):
    """A run that is "{name}" is told from its numbers, with other settings and seeds, and from another run."""
    for _ in range(2):
        said = diagnosis(learner, a_run(learner, rng, name)[0])
        if said != name:
            raise Mistake(f'`diagnose` says "{said}" of a run that is "{name}": {LOOK[name]}')
    other = "layers cut off" if name == "healthy" else "healthy"
    if learner.call("diagnose", a_run(learner, rng, other)[0]) == name:
        raise Mistake(f'`diagnose` says "{name}" of a run that is "{other}", too: {LOOK[other]}')


# 2. Cure.


def cured(learner, settings, name):
    came = learner.run("cure", settings, name)
    if not isinstance(came.value, dict):
        raise Mistake(f"`cure` returned {expect.describe(came.value)}; it must return the new settings, a dict")
    if set(came.value) != set(settings):
        raise Mistake("`cure` must return a dict with all settings, under the same names, and no others")
    return came.value, came.args[0]


@points(0.5)
@pytest.mark.parametrize(
    "names",
    [
        "rate too high, rate too low, decay too strong",
        "never zeroed, loss summed, labels shuffled",
        "weights too large, units dead, layers cut off",
    ],
)
def test_cured_runs_are_healthy(learner, rng, names):
    """Made again with the new settings, the run is healthy: {names}."""
    for name in names.split(", "):
        _, settings, seed = a_run(learner, rng, name)
        while name == "rate too high" and settings["lr"] < 40:  # or a tenth of it may be healthy
            _, settings, seed = a_run(learner, rng, name)
        settings["weight_decay"] = settings["weight_decay"] or 5e-5
        again, _ = cured(learner, settings, name)
        if again == settings:
            raise Mistake(f'for "{name}", `cure` changes nothing')
        kept = {"lr", "init", "weight_decay"} - {SETTING[name]}
        if all(again[key] == HEALTHY[key] for key in kept):
            raise Mistake(
                "`cure` returns the settings of a healthy run, whatever it is given: it must change the setting that "
                "the diagnosis is about, and no other"
            )
        try:
            loss = learner.call("run", again, seed)["loss"]
        except Mistake:
            raise Mistake(f'for "{name}", `cure` returns a setting with which no run can be made') from None
        if not np.mean(loss[-10:]) < 0.85:
            where = SETTING[name]
            if again[where] == settings[where]:
                raise Mistake(f'for "{name}", `cure` changes another setting than the one that is sick')
            raise Mistake(
                f'with the cure for "{name}" the run is not healthy: is the new "{where}" in its healthy range?'
            )


@points(0.5)
def test_one_setting_is_changed(learner, rng):
    """What is healthy already stays as it is."""
    for name, where in SETTING.items():
        settings = draw(rng, name)
        if settings["weight_decay"] == 0:
            settings["weight_decay"] = 5e-5
        again, _ = cured(learner, settings, name)
        if again == settings:
            raise Mistake(f'for "{name}", `cure` changes nothing')
        if again[where] == settings[where]:
            raise Mistake(f'for "{name}", `cure` changes another setting than the one that is sick')
        if any(again[key] != settings[key] for key in settings if key != where):
            raise Mistake("`cure` also changes settings that the diagnosis is not about: those that are healthy stay")


@points(0.5)
def test_given_settings_stay(learner, rng):
    """The given dict stays as it was, and a healthy run is not treated."""
    done = []
    for name in ("loss summed", "units dead"):
        settings = draw(rng, name)
        given = dict(settings)
        again, left = cured(learner, settings, name)
        done.append({key: again[key] != settings[key] for key in settings})
        if left != given:
            raise Mistake("`cure` changes the dict that it was given: make a new one")
    expect.depends_on_input(*done, name="cure")
    settings = draw(rng, "healthy")
    if cured(learner, settings, "healthy")[0] != settings:
        raise Mistake('for "healthy", `cure` changes a setting')


# 3. Treat.


def treated(learner, *args):
    try:
        found = learner.call("treated", *args)
    except Mistake as mistake:
        told = str(mistake).replace("`treated`", "`treat`", 1)
        raise mistake.reworded(told, function="treat") from None
    if found["endless"]:
        raise Mistake("`treat` goes on long after `most` runs: it must stop there, healthy or not")
    settings, names = expect.pair(found["said"], "the settings and the list of diagnoses", name="treat")
    if not isinstance(settings, dict) or not isinstance(names, (list, tuple)):
        raise Mistake("`treat` must return the settings, a dict, and then the diagnoses, a list")
    if not found["made"]:
        raise Mistake("`treat` makes no run: call the `run` that it is given")
    return found, settings, list(names)


HIDDEN_BY = ["weights too large", "units dead", "layers cut off", "loss summed"]  # they hide what comes after them


def patients(learner, rng, names):
    """Return the settings of a run with all these faults, and what its runs show: the first of them that is left."""
    settings, signs = draw(rng, "healthy"), []
    for name in names:
        record, sick, _ = a_run(learner, rng, name)
        settings[SETTING[name]] = sick[SETTING[name]]
        signs.append((SETTING[name], sick[SETTING[name]], record))
    return settings, [*signs, ("", None, a_run(learner, rng, "healthy")[0])]


@points(1)
@rests_on(RIGHT_DIAGNOSE + RIGHT_CURE)
def test_two_faults(learner, rng):
    """A run with two faults is healthy after two cures, and the third run shows it."""
    for at in rng.permutation(len(HIDDEN_BY))[:2]:
        both = [HIDDEN_BY[at], "labels shuffled"]
        sick, signs = patients(learner, rng, both)
        found, settings, names = treated(learner, sick, signs, 6)
        if len(found["made"]) < 3:
            raise Mistake(
                "`treat` stops after fewer than three runs, though there were two faults: look again, each time"
            )
        if names and names[-1] == "healthy" and names.count("healthy") > 1:
            raise Mistake("`treat` goes on after a run was healthy")
        first, second, third = found["made"][:3]
        if first != sick:
            raise Mistake("`treat` makes its first run with other settings than those it was given")
        if any(first[key] != second[key] and third[key] == first[key] for key in SETTING.values()):
            raise Mistake("`treat` forgets a cure: each goes on from the settings of the last run, not from the first")
        if len(found["made"]) > 3:
            raise Mistake("`treat` makes more than three runs for two faults: one a cure, and one before the first")
        if third == second:
            raise Mistake("`treat` makes the same run again: the cure must be given the settings of the last run")
        if settings != found["made"][-1]:
            raise Mistake("`treat` returns other settings than those of the last run it made")
        if set(names) != {*both, "healthy"} or len(names) != 3:
            raise Mistake("the list that `treat` returns must have one diagnosis for each run, the last one, too")
        if names[-1] != "healthy":
            raise Mistake("the diagnoses that `treat` returns are not in the order of the runs")


@points(0.5)
@rests_on(RIGHT_DIAGNOSE + RIGHT_CURE)
def test_no_more_runs_than_allowed(learner, rng):
    """A run that no cure helps is made `most` times, and all diagnoses are there."""
    sick, signs = patients(learner, rng, ["layers cut off"])
    for most in (3, 4):
        found, _, names = treated(learner, sick, signs, most, True)
        if len(found["made"]) > most:
            raise Mistake("`treat` makes more runs than `most` allows")
        if len(found["made"]) < most:
            raise Mistake("`treat` gives up before it has made the runs that `most` allows")
        if len(names) != most:
            raise Mistake("where `treat` gives up, its list does not have one diagnosis for each run")


@points(0.5)
@rests_on(RIGHT_DIAGNOSE + RIGHT_CURE)
def test_settings_of_the_last_run(learner, rng):
    """Where runs are used up, the settings returned are those of the last run, not untried ones."""
    for most, names in ((1, ["layers cut off"]), (2, ["units dead", "labels shuffled"])):
        sick, signs = patients(learner, rng, names)
        found, settings, _ = treated(learner, sick, signs, most)
        if len(found["made"]) > most:
            raise Mistake("`treat` makes more runs than `most` allows")
        if len(found["made"]) < most:
            raise Mistake("`treat` does not make as many runs as `most` allows, though no run was healthy")
        if settings != found["made"][-1]:
            raise Mistake(
                "`treat` returns settings that it has not tried: where the runs are used up, it cures no more"
            )
        if found["given"] != sick:
            raise Mistake("`treat` changes the dict that it was given: make new settings")


@points(0.5)
@rests_on(RIGHT_DIAGNOSE + RIGHT_CURE)
def test_a_healthy_run(learner, rng):
    """A healthy run is made once, and nothing is changed; one fault takes two runs."""
    settings, signs = patients(learner, rng, [])
    found, left, names = treated(learner, settings, signs, 5)
    if len(found["made"]) != 1:
        raise Mistake("`treat` makes a healthy run more than once")
    if left != settings:
        raise Mistake("`treat` changes the settings of a healthy run")
    if names != ["healthy"]:
        raise Mistake("the list of a healthy run does not hold its one diagnosis")
    found, _, names = treated(learner, *patients(learner, rng, ["layers cut off"]), 5)
    if len(found["made"]) != 2 or names != ["layers cut off", "healthy"]:
        raise Mistake("a run with one fault is to be made twice: once sick, and once to see that the cure has helped")
