"""Grading answers warm, as a class is graded: kernels are forked from a process that has imported what they need."""

from contextlib import ExitStack
from pathlib import Path

import nbformat
import pytest

from course_grader.grading.exercises.answers import insert_answers
from course_grader.grading.exercises.exercise import find_exercise
from course_grader.grading.grade_class.find_submissions import Task
from course_grader.grading.grade_class.graders import Graders

EXERCISES = Path(__file__).parents[2] / "exercises"


@pytest.fixture(scope="session")
def graders_for():
    """Return the graders for a task's exercise; they start when first asked for, and stay for all with its imports."""
    started = {}
    with ExitStack() as stack:

        def get(task):
            if (imports := task.exercise.imports) not in started:
                started[imports] = stack.enter_context(Graders(jobs=1))
                started[imports].prepare([task, task])  # for a single one they would load nothing ahead
            return started[imports]

        yield get


@pytest.fixture
def grade_notebook(graders_for, tmp_path):
    """Return a function that grades a notebook as an exercise."""

    def run(notebook, exercise, *, learner="ada"):
        nbformat.write(notebook, path := tmp_path / f"{exercise.slug}.ipynb")
        task = Task(learner, exercise, path)
        [(_, report)] = graders_for(task).grade([task])
        return report

    return run


@pytest.fixture
def grade(request, grade_notebook):
    """Grade the reference with other answers in some cells; a file ``test_<slug>.py`` is about that exercise."""
    exercise = find_exercise(request.path.stem.removeprefix("test_"), exercises=EXERCISES)

    def run(answers, *, learner="ada"):
        return grade_notebook(insert_answers(exercise.reference(), answers), exercise, learner=learner)

    return run


@pytest.fixture(params=["ada", pytest.param("bob", marks=pytest.mark.more)])
def earns_every_point(request, grade):
    """Hold that an answer passes every test without a message, whatever numbers a learner is given."""

    def check(answers):
        report = grade(answers, learner=request.param)
        assert (report.points, report.messages) == (10, ())
        assert {row.status for row in report.rows} == {"passed"}

    return check


@pytest.fixture
def finds_no_library(grade):
    """Hold that an answer has nothing that differentiates, not even for its arrays, and that its cell says so."""

    def check(answers):
        report = grade(answers)
        assert report.points < 10
        assert any("where this is graded: it is done by hand" in message for message in report.messages)

    return check
