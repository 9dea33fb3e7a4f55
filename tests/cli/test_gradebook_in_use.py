"""``course grade`` where the gradebook fails in mid-run, or is named by nothing."""

import contextlib
import sqlite3
from pathlib import Path

import nbformat
import pytest

from course_grader.cli.progress import Progress
from course_grader.grading.exercises.exercise import load_exercise
from course_grader.grading.gradebook import database
from tests.grading.conftest import SOURCE, TESTS, read_details

LEARNERS = ("ada", "bob", "cem")


@pytest.fixture
def classroom(tmp_path, monkeypatch):
    """A working directory with the tiny exercise and three submissions."""
    monkeypatch.chdir(tmp_path)
    (key := tmp_path / "exercises" / "double" / "key").mkdir(parents=True)
    (key / "source.md").write_text(SOURCE, encoding="utf-8")
    (key / "test_hidden.py").write_text(TESTS, encoding="utf-8")
    for learner in LEARNERS:
        (folder := tmp_path / "submissions" / learner).mkdir(parents=True)
        nbformat.write(load_exercise(key).reference(), folder / "double.ipynb")
    return tmp_path


def test_a_gradebook_that_is_locked_in_mid_run_loses_nothing(course, classroom, monkeypatch):
    """One line and status 2; what was recorded stays, and the same command goes on from there."""
    monkeypatch.setattr(database, "WAIT_SECONDS", 0.1)
    with contextlib.ExitStack() as held, monkeypatch.context() as patch:

        def lock(*_):
            other = held.enter_context(contextlib.closing(sqlite3.connect("grades/gradebook.sqlite")))
            other.execute("BEGIN EXCLUSIVE")

        patch.setattr(Progress, "show", lock)
        status, out, err = course("grade", "submissions", "-j", 1)
    assert (status, out) == (2, "")
    wrong = "the gradebook at grades/gradebook.sqlite could not be read or written: database is locked"
    assert err == f"course: {wrong}; run the same command again\n"
    status, out, err = course("grade", "submissions", "-j", 1)
    assert (status, err) == (0, "")
    assert "1 of 3 were in the gradebook already" in out
    graded = read_details(Path("grades"))
    assert [(entry["learner"], entry["points"]) for entry in graded] == [(learner, 3) for learner in LEARNERS]


def test_a_gradebook_without_a_name_is_the_one_among_the_grades(course, classroom):
    """As in ``--gradebook "$BOOK"`` where nothing was set: the folder is made for it."""
    status, _, err = course("grade", "submissions", "-j", 1, "--gradebook", "", "--out", "new")
    assert (status, err) == (0, "")
    assert (classroom / "new" / "gradebook.sqlite").is_file()
