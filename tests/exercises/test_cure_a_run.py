"""Right answers to cure_a_run that look nothing like the reference get every point."""

import pytest

from course_grader.grading.exercises.exercise import find_exercise
from course_grader.grading.grade_one.pytest_session import collect_tests
from tests.exercises.test_keys import EXERCISES

BY_CONSEQUENCE = {
    "diagnose": """
GUESS = math.log(4)
SIGNS = [
    ("weights too large", lambda r: r["gain"][:, 0].mean() > 1.9),
    ("rate too low", lambda r: np.ptp(r["gain"], axis=1).max() < 0.02 and r["norm"].min(axis=1).max() > 0.1),
    ("loss summed", lambda r: r["loss"][0] > 20),
    ("units dead", lambda r: r["dead"][0, :3].min() > 0.9),
    ("layers cut off", lambda r: not r["ratio"][:2].any() and r["ratio"][2].any()),
    ("decay too strong", lambda r: r["gain"][:, 50:].max() < 0.1),
    ("rate too high", lambda r: not r["gain"][:, 3].max() < 3),
    ("never zeroed", lambda r: not r["gain"][:, -1].max() < 2),
    ("labels shuffled", lambda r: not np.median(r["loss"][30:]) < 1.15),
    ("healthy", lambda r: True),
]

def diagnose(record):
    return next(name for name, sign in SIGNS if sign(record))
""",
    "cure": """
import copy

def cure(settings, diagnosis):
    new = copy.deepcopy(settings)
    if diagnosis.startswith("rate"):
        new["lr"] = 0.15
    elif diagnosis != "healthy":
        keys = dict(never="zero_grad", loss="reduction", weights="init", units="bias", layers="detach")
        keys |= dict(decay="weight_decay", labels="labels")
        key = keys[diagnosis.split()[0]]
        new[key] = HEALTHY[key]
    return new
""",
    "treat": """
def treat(settings, run, most):
    name = diagnose(run(settings))
    if name == "healthy" or most == 1:
        return settings, [name]
    last, names = treat(cure(settings, name), run, most - 1)
    return last, [name, *names]
""",
}
PLAIN_PYTHON = {
    "diagnose": """
def diagnose(record):
    r = {name: array.tolist() for name, array in record.items()}
    first = {name: [row[0] for row in r[name]] for name in ("norm", "ratio", "gain", "dead")}
    if min(first["gain"]) > 1.8: return "weights too large"
    if sum(first["dead"]) > 1.5: return "units dead"
    if sum(r["norm"][0]) == 0 == sum(r["norm"][1]): return "layers cut off"
    if r["loss"][0] > 5 * 1.386: return "loss summed"
    if max(first["ratio"]) > 1: return "rate too high"
    if all(x < 2e-3 for row in r["ratio"] for x in row): return "rate too low"
    if r["gain"][1][-1] < 0.2: return "decay too strong"
    if r["gain"][1][-1] > 2: return "never zeroed"
    return ["healthy", "labels shuffled"][sum(r["loss"][-10:]) > 11]
""",
    "cure": """
def cure(settings, diagnosis):
    match diagnosis:
        case "rate too high" | "rate too low": return {**settings, "lr": 0.3}
        case "never zeroed": return {**settings, "zero_grad": 1}
        case "loss summed": return settings | dict(reduction="mean")
        case "weights too large": return settings | dict(init=0.9)
        case "units dead": return settings | dict(bias=0)
        case "layers cut off": return settings | dict(detach=0)
        case "decay too strong": return settings | dict(weight_decay=1e-4)
        case "labels shuffled": return settings | dict(labels="right")
    return settings
""",
    "treat": """
def treat(settings, run, most):
    names, left = (), most
    while True:
        names += (diagnose(run(dict(settings))),)
        left -= 1
        if names[-1] == "healthy" or not left:
            return [settings, names]
        settings = cure(settings, names[-1])
""",
}
IN_ONE = {
    "diagnose": """
def diagnose(record):
    loss, norm, ratio, gain, dead = map(np.nan_to_num, record.values())
    g0, g1 = np.log2(gain[:, 0].mean()), np.log2(gain[:, -1].mean() + 1e-300)
    features = np.array([
        g0 > 0.8,
        dead[:, 0].all(),
        norm[:2].max() == 0,
        loss[0] > 15,
        g1 < -1.5,
        np.linalg.norm(ratio[:, 0]) > 1,
        np.linalg.norm(ratio, axis=0).max() < 2e-3,
        np.linalg.norm(norm[:, 2:5]) / 3 > 0.85 * np.linalg.norm(norm[:, 0]) and g1 > 1,
        loss[-15:].mean() > 1.15,
        True,
    ])
    return (
        "weights too large,units dead,layers cut off,loss summed,decay too strong,"
        "rate too high,rate too low,never zeroed,labels shuffled,healthy"
    ).split(",")[features.argmax()]
""",
    "cure": """
class Cures(dict):
    def __missing__(self, name):
        return "lr"

WHERE = Cures({
    "never zeroed": "zero_grad", "loss summed": "reduction", "weights too large": "init", "units dead": "bias",
    "layers cut off": "detach", "decay too strong": "weight_decay", "labels shuffled": "labels", "healthy": None,
})

def cure(settings, diagnosis):
    return {key: HEALTHY[key] if key == WHERE[diagnosis] else value for key, value in settings.items()}
""",
    "treat": """
def treat(settings, run, most):
    tried, names = [], []
    for _ in range(most):
        tried.append(settings)
        names.append(diagnose(run(settings)))
        if names[-1] == "healthy":
            break
        settings = cure(settings, names[-1])
    return tried[-1], np.array(names).tolist()
""",
}


@pytest.mark.parametrize("style", [BY_CONSEQUENCE, PLAIN_PYTHON, IN_ONE], ids=["consequence", "plain", "features"])
def test_a_right_answer_in_another_style_gets_every_point(earns_every_point, style):
    """Signs of the end, and recursion; lists, other healthy values; features of logarithms, and settings kept apart."""
    earns_every_point(style)


def test_each_row_of_the_report_says_which_run_it_is_of(tmp_path):
    """The ten runs that are to be diagnosed, and the three lots that are to be cured."""
    tests = find_exercise("cure_a_run", exercises=EXERCISES).tests
    titles = [row.title for row in collect_tests(tests, folder=tmp_path, compiled=tmp_path / "compiled")]
    assert len(titles) == len(set(titles))
    assert any('"rate too high"' in title for title in titles)
