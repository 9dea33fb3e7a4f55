"""``course grade --queue``: a whole class through the service's workers."""

import json
import os
import subprocess
import sys

import pytest

from course_grader.grading.exercises.exercise import Exercise
from tests.grading.conftest import exercise, hand_in, make_exercise  # noqa: F401 - pytest finds them here


def course(*words, **options):
    """Run the command, and return what it printed and its status."""
    command = [sys.executable, "-m", "course_grader.cli", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, **options)


@pytest.fixture
def classroom(exercise: Exercise, hand_in, tmp_path):  # noqa: F811 - the fixtures
    """Two learners' notebooks, one of them wrong and called otherwise, and the exercise."""
    (tmp_path / "exercises").mkdir()
    (tmp_path / "exercises/double").symlink_to(exercise.key.parent)
    for learner, name, answers in (
        ("ada", "double.ipynb", {}),
        ("bob", "Copy of double.ipynb", {"double": "def double(x):\n    return 0"}),
    ):
        (tmp_path / "submissions" / learner).mkdir(parents=True)
        hand_in(**answers).rename(tmp_path / "submissions" / learner / name)
    return tmp_path


@pytest.fixture
def worker(classroom, new_database):
    """A worker of the service; the address of its database."""
    database = new_database()
    command = [sys.executable, "-m", "course_grader.cli", "work", "-j", "1"]
    with subprocess.Popen(command, cwd=classroom, env=os.environ | {"COURSE_DATABASE": database}) as process:
        yield database
        process.terminate()
        assert process.wait(60) == 0


def test_marks_are_those_of_this_machine(classroom, worker):
    """Points, messages and notes; and a second run has nothing left to grade."""
    here = course("grade", "submissions", "--out", "here", "-j", "1", "--report", "json", cwd=classroom)
    assert here.returncode == 0, here.stderr
    there = ("grade", "submissions", "--out", "there", "--gradebook", worker, "--queue", "--report", "json")
    while "found none" in (queued := course(*there, cwd=classroom)).stderr:
        pass  # the worker is on its way
    assert queued.returncode == 0, queued.stderr

    def entries(folder):
        grades = json.loads((classroom / folder / "grades.json").read_text())["submissions"]
        names = ("learner", "points", "max_points", "status", "messages")
        return [{name: each[name] for name in names} for each in grades]

    assert entries("there") == entries("here")
    assert [each["points"] for each in entries("there")] == [3, 1]
    assert "2 of 2 were in the gradebook already" in course(*there, cwd=classroom).stdout


def test_it_needs_a_database(classroom):
    """And says which."""
    done = course("grade", "submissions", "--queue", cwd=classroom)
    assert done.returncode == 2
    assert "--gradebook postgresql://" in done.stderr
