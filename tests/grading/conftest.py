"""A tiny exercise, and ways to hand in answers to it."""

import json
import tempfile
from collections.abc import Callable, Collection
from dataclasses import replace
from pathlib import Path
from typing import Any

import nbformat
import pytest

from course_grader.grading.exercises.exercise import Exercise, load_exercise
from course_grader.grading.grade_one.grade_submission import grade_submission
from course_grader.grading.grade_one.report import SubmissionReport
from course_grader.grading.gradebook import FinalGrade

SOURCE = """---
course:
  exercise: double
  title: Twice as much
  timeout_seconds: 3
---

# Twice as much

```{code-cell} ipython3
:name: setup
import numpy as np
```

```{code-cell} ipython3
:name: double
:tags: [answer]
def double(x):
    raise NotImplementedError("`double` is not written yet")
```

```{code-cell} ipython3
:name: double
:tags: [solution]
def double(x):
    return 2 * x
```

```{code-cell} ipython3
:name: check_double
:tags: [check]
:expect: "double: right."
assert np.array_equal(double(np.ones(2)), [2, 2]), "twice one is two"
print("double: right.")
```

```{code-cell} ipython3
:name: halve
:tags: [answer]
def halve(x):
    raise NotImplementedError("`halve` is not written yet")
```

```{code-cell} ipython3
:name: halve
:tags: [solution]
def halve(x):
    return x / 2
```
"""

TESTS = '''
import numpy as np

from course_grader import Mistake, expect, points

SECRET = 41.5


@points(2)
def test_double(learner, rng):
    """Doubling works for any shape."""
    x = rng.normal(size=(2, 3))
    if not np.allclose(expect.array(learner.call("double", x), name="the double", shape=(2, 3)), 2 * x):
        raise Mistake("`double` does not double")


@points(1)
def test_halve(learner):
    """Halving works."""
    if learner.call("halve", 2 * SECRET) != SECRET:
        raise Mistake("`halve` does not halve")
'''


class ListedGrades(list[FinalGrade]):
    """Grades that are at hand, as reports are made from them."""

    @property
    def exercises(self) -> list[str]:
        """The names of all, in order."""
        return sorted({grade.exercise for grade in self} - {""})

    def final_grades(self, learners: Collection[str]) -> list[FinalGrade]:
        """Return those of some learners."""
        return [grade for grade in self if grade.learner in learners]


def read_details(folder: Path) -> list[dict[str, Any]]:
    """Return all that ``course grade`` wrote about everyone, by learner and exercise."""
    entries = [
        entry for path in (folder / "details").iterdir() for entry in json.loads(path.read_text())["submissions"]
    ]
    return sorted(entries, key=lambda entry: (entry["learner"], entry["exercise"]))


@pytest.fixture(scope="session")
def make_exercise(tmp_path_factory) -> Callable[..., Exercise]:
    """Return a function that lays out an exercise and loads it."""

    def make(source: str = SOURCE, tests: str = TESTS, seconds: float = 20, total: float = 60) -> Exercise:
        key = tmp_path_factory.mktemp("exercises") / "double" / "key"
        key.mkdir(parents=True)
        (key / "source.md").write_text(source, encoding="utf-8")
        (key / "test_hidden.py").write_text(tests, encoding="utf-8")
        exercise = load_exercise(key)
        return replace(exercise, limits=replace(exercise.limits, cell_seconds=seconds, total_seconds=total))

    return make


@pytest.fixture(scope="session")
def exercise(make_exercise) -> Exercise:
    """The tiny exercise."""
    return make_exercise()


@pytest.fixture(scope="session")
def hasty(make_exercise) -> Exercise:
    """The same with little time, for what is meant to run out of it."""
    return make_exercise(seconds=3)


@pytest.fixture
def short_folder():
    """A folder whose path leaves room for sockets, so that as ``TMPDIR`` it holds all that grading leaves."""
    with tempfile.TemporaryDirectory(prefix="t", dir="/tmp") as folder:
        yield Path(folder)


@pytest.fixture
def hand_in(exercise, tmp_path) -> Callable[..., Path]:
    """Return a function that writes the reference notebook with some answers replaced."""

    def write(**answers: str) -> Path:
        notebook = exercise.reference()
        for cell in notebook.cells:
            cell.source = answers.get(cell.id, cell.source)
        path = tmp_path / "double.ipynb"
        nbformat.write(notebook, path)
        return path

    return write


@pytest.fixture
def grade(exercise, hand_in) -> Callable[..., SubmissionReport]:
    """Return a function that grades the reference with some answers replaced."""
    return lambda **answers: grade_submission(hand_in(**answers), learner="ada", exercise=exercise)


@pytest.fixture
def exercises(exercise):
    """The folder that holds the tiny exercise."""
    return exercise.key.parents[1]


@pytest.fixture
def classroom(tmp_path, hand_in):
    """A nested folder: two learners with notebooks, and every kind of thing a folder collects."""
    folder = tmp_path / "submissions"
    right, wrong = hand_in().read_bytes(), hand_in(halve="def halve(x): return x").read_bytes()
    for learner, raw in {"ada": right, "bob": wrong, "=cmd()": right, "cut off": right[:200], "empty": b""}.items():
        (folder / learner).mkdir(parents=True)
        (folder / learner / "double.ipynb").write_bytes(raw)
    (folder / "fay" / "double.ipynb").mkdir(parents=True)
    (folder / "gil").mkdir()
    (folder / "hal").mkdir()
    (folder / "hal" / "my double.ipynb").write_bytes(right)
    (folder / "ivy").symlink_to(folder / "ada")
    (folder / "jon").mkdir()
    (folder / "jon" / "double.ipynb").symlink_to(folder / "ada" / "double.ipynb")
    (folder / ".ipynb_checkpoints").mkdir()
    (folder / "notes.txt").write_text("not a learner")
    return folder
