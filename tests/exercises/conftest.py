"""Grading answers of which a test holds the text."""

from pathlib import Path

import nbformat
import pytest

from course_lib.grading.exercise import find
from course_lib.grading.merge import merge
from course_lib.grading.submission import grade_submission

EXERCISES = Path(__file__).parents[2] / "exercises"


@pytest.fixture
def grade(request, tmp_path):
    """Grade the reference with other answers in some cells; a file ``test_<slug>.py`` is about that exercise."""
    exercise = find(request.path.stem.removeprefix("test_"), exercises=EXERCISES)

    def run(answers, *, learner="ada"):
        nbformat.write(merge(exercise.reference(), answers), path := tmp_path / f"{exercise.slug}.ipynb")
        return grade_submission(path, learner=learner, exercise=exercise)

    return run


@pytest.fixture
def earns_every_point(grade):
    """Hold that an answer passes every test without a message, whatever numbers a learner is given."""

    def check(answers):
        for learner in ("ada", "bob"):
            report = grade(answers, learner=learner)
            assert (report.points, report.messages) == (10, ())
            assert {row.status for row in report.rows} == {"passed"}

    return check
