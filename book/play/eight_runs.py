"""The eight broken runs of a page, as that page runs them, for a reader who diagnoses them."""

import contextlib
import io
import re
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from course_lib.figures import Drawing, lines

TITLE = "Diagnose eight broken runs"
START = {"run": "A", "diagnosis": "", "step": 1, "given": ""}
PAGE = Path(__file__).parents[2] / "chapters" / "monitoring" / "eight_broken_runs.md"
CELL = re.compile(r"^```\{code-cell\} ipython3\n(?::[^\n]*\n)*\n?(.*?)^```$", re.MULTILINE | re.DOTALL)
CASES = dict(zip("ABCDEFGH", (2, 8, 1, 5, 7, 3, 6, 4), strict=True))  # not in the page's order
STEPS = 100
VITALS = ("loss", "gradient norm", "update/weight", "weight norm")
WEIGHTS = ("body.0.weight", "body.1.weight", "body.2.weight", "head.weight")


@cache
def train() -> tuple[dict[str, Any], Any]:
    """Run the page's cells that train; return its runs, by letter, and its function for their vital signs."""
    names: dict[str, Any] = {}
    for code in CELL.findall(PAGE.read_text("utf-8")):
        if any(made in code for made in ("class Classifier", "healthy = ", "def vitals", "cases = {")):
            with contextlib.redirect_stdout(io.StringIO()):
                exec(code.split("\nshow(")[0], names)  # noqa: S102 # the page's own code
    return {letter: names["cases"][case] for letter, case in CASES.items()} | {"": names["healthy"]}, names["vitals"]


@cache
def data() -> dict[str, Any]:
    """Return for each run, and for the healthy one, its vital signs and the rms of each weight's gradient."""
    runs, vitals = train()
    found = {}
    for letter, run in runs.items():
        rms, names = run[1].weight_rms()
        bad = run[1].history.pivot(index="parameter", columns="step", values="nonfinite") > 0
        rows = {name: _write(values, bad.loc[name].to_numpy()) for name, values in zip(names, rms.T, strict=True)}
        found[letter] = {
            "case": CASES.get(letter, 0),
            "vitals": [_write(vitals(run)[vital], np.ones(STEPS, bool)) for vital in VITALS],
            "rms": [rows.get(name) for name in WEIGHTS],  # None for what is not in the monitor
        }
        found[letter]["vitals"][2][0] = None  # before step 1 there was no update
    return found


def _write(values: npt.NDArray[np.float64], bad: npt.NDArray[np.bool_]) -> list[float | str | None]:
    """Round for JSON, which has no NaN; where there is no gradient at all stands None."""
    pairs = zip(values.tolist(), bad.tolist(), strict=True)
    return [float(f"{value:.3g}") if np.isfinite(value) else "nan" if wrong else None for value, wrong in pairs]


def model(state: dict[str, Any]) -> dict[str, Any]:
    """Read the run at a step, and compare its gradients with the healthy ones."""
    run, healthy, at = data()[state["run"]], data()[""], state["step"] - 1
    rms = [_read(row[at]) if row else np.nan for row in run["rms"]]
    return {
        "vitals": [_read(values[at]) for values in run["vitals"]],
        "ratios": (np.array(rms) / [row[at] for row in healthy["rms"]]).tolist(),
    }


def _read(value: float | str | None) -> float:
    return np.nan if value is None else float(value)


def still() -> Drawing:
    """Draw the losses of three of the runs."""
    return lines(
        {f"run {letter}" if letter else "healthy": data()[letter]["vitals"][0] for letter in ("", "B", "C", "F")},
        x_label="step",
        y_label="loss",
        title="Three of the runs beside the healthy one: each leaves it in another way, and at another time",
    )


def table() -> list[list[str]]:
    """List the vital signs of the runs, without their diagnoses."""
    steps = (1, 2, 20, 100)
    when = f"at steps {', '.join(map(str, steps))}"
    rows = [["run", *(f"{vital} {when}" for vital in VITALS[:2]), "weights with a gradient"]]
    for letter, run in data().items():
        signs = [", ".join(f"{values[step - 1]}" for step in steps) for values in run["vitals"][:2]]
        seen = sum(bool(row) and row[0] is not None for row in run["rms"])
        watched = sum(row is not None for row in run["rms"])
        rows.append([letter or "healthy", *signs, f"{seen} of {watched} in the monitor"])
    return rows
