"""The same answers get the same points and messages under any name: what is drawn by the name must tell."""

import warnings
from dataclasses import replace
from pathlib import Path

import pytest

from course_grader.grading.exercises.answers import answers_of
from course_grader.grading.exercises.exercise import find_exercise
from course_grader.grading.exercises.wrong_answers import read_wrong_answer
from course_grader.grading.grade_one.pytest_session import TestsPlugin, run_session
from course_grader.grading.sandbox.limits import Limits
from course_grader.learner.own_process import OwnProcess

EXERCISES = Path(__file__).parents[2] / "exercises"
WRONG = sorted(EXERCISES.glob("*/key/wrong/*.py"))
NAMES = ["ada", "bob", "cy", "dan", "eve", "fay", "gus", "hal", "ida", "joe"]
UNHURRIED = Limits(cell_seconds=120, total_seconds=1200, enforced=False)


def run_cells(notebook, *, by_hand):
    """Run a notebook in this process, as for marking oneself, and go on after what a check says."""
    process = OwnProcess(replace(UNHURRIED, by_hand=by_hand))
    for cell in notebook.cells:
        if cell.cell_type == "code" and cell.metadata.course.kind != "check":
            process.run_cell(cell.id, cell.source)
    return process


@pytest.mark.names
@pytest.mark.parametrize("wrong", WRONG, ids=lambda path: f"{path.parents[2].name}-{path.stem}")
def test_a_mistake_costs_the_same_whoever_makes_it(wrong, tmp_path):
    """Ten names, one set of points, and the promised message for each."""
    exercise, answer = find_exercise(wrong.parents[2].name, exercises=EXERCISES), read_wrong_answer(wrong)
    notebook = answer.notebook(exercise)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in NAMES:
            process = run_cells(notebook, by_hand=exercise.limits.by_hand)  # what one keeps must not slow the next
            (folder := tmp_path / name).mkdir()
            plugin = TestsPlugin(exercise.tests, process, answers_of(notebook), name)
            rows = run_session(plugin, folder=folder, compiled=tmp_path / "compiled")
            assert (name, sum(row.points for row in rows)) == (name, answer.points)
            messages = [row.message for row in rows if row.message]
            assert any(answer.expects in message for message in messages), (name, messages)
