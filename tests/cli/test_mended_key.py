"""A key is mended in mid-course: every attempt is graded again, also those whose files are gone."""

import os
import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import nbformat
import pytest

from course_grader.grading.exercises.exercise import load_exercise
from course_grader.grading.grade_one.grade_submission import grade_submission
from course_grader.grading.gradebook import Gradebook
from tests.grading.conftest import TESTS, read_details

BROKEN = TESTS.replace("2 * x)", "3 * x)")  # a right `double` fails
DUE = datetime(2026, 10, 5, 22, tzinfo=UTC)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
RULES = '[exercises.double]\ndue = 2026-10-05T22:00:00Z\nlate_percent = [10, 50]\nattempts = "{}"\n'
ANSWERS = {
    "right": {},
    "tripled": {"double": "def double(x): return 3 * x"},
    "nothing": {"double": "", "halve": ""},
}


@pytest.fixture
def hand_in(classroom):
    """Return a function that hands in one of the answers at a time, in the place of what lay there."""
    exercise = load_exercise(classroom / "exercises" / "double" / "key")

    def write(learner, answers, at):
        notebook = exercise.reference()
        for cell in notebook.cells:
            cell.source = ANSWERS[answers].get(cell.id, cell.source)
        path = classroom / "submissions" / learner / "double.ipynb"
        nbformat.write(notebook, path)
        os.utime(path, (at.timestamp(), at.timestamp()))

    return write


def grade(course, classroom, *options, attempts="best"):
    """Run ``course grade``; return everyone's points, what it printed, and what it noted."""
    (classroom / "course.toml").write_text(RULES.format(attempts))
    status, out, err = course("grade", "submissions", *options)
    assert status == 0, err
    found = read_details(classroom / "grades")
    return {entry["learner"]: entry["points"] for entry in found if entry["learner"] in ("ada", "bob")}, out, err


def test_a_mended_key_gives_every_attempt_its_marks(course, classroom, hand_in):
    """Best and last, lateness and points by hand are reckoned anew; graded once more, all that is recorded stays."""
    tests = classroom / "exercises" / "double" / "key" / "test_hidden.py"
    tests.write_text(BROKEN)
    hand_in("ada", "right", DUE - HOUR)
    hand_in("bob", "tripled", DUE - HOUR)
    grade(course, classroom, "-j", 1)
    hand_in("ada", "tripled", DUE + HOUR)  # which the broken key takes for right
    hand_in("bob", "nothing", DUE + DAY + HOUR)
    assert course("points", "ada", "double", 0.5, "--why", "oral")[0] == 0
    points, _, err = grade(course, classroom, "-j", 1)
    assert (points, err) == ({"ada": 0.9 * 3 + 0.5, "bob": 3}, "")

    tests.write_text(TESTS)
    points, out, _ = grade(course, classroom, "-j", 1)  # grades the files alone
    assert points == {"ada": 1 + 0.5, "bob": 3}
    assert "2 earlier attempts were graded by another key; --regrade grades all again" in out

    points, out, err = grade(course, classroom, "--regrade")
    assert (points, err) == ({"ada": 3 + 0.5, "bob": 1}, "")
    assert "2 earlier attempts were graded again" in out
    assert "another key" not in out
    assert grade(course, classroom, "-j", 1, attempts="last")[0] == {"ada": 0.9 * 1 + 0.5, "bob": 0}

    once = recorded(classroom)
    assert grade(course, classroom, "-j", 1, "--regrade")[0] == {"ada": 3.5, "bob": 1}
    assert recorded(classroom) == once


def recorded(classroom):
    """Return every attempt, without when and where it was graded."""
    with Gradebook(str(classroom / "grades" / "gradebook.sqlite")) as book:
        return [
            replace(
                each, graded_at=DUE, report=replace(each.report, sandbox="", rows=without_details(each.report.rows))
            )
            for each in book.attempts(exercise="double")
        ]


def without_details(rows):
    """Leave out what has addresses in memory."""
    return tuple(replace(row, detail="") for row in rows)


def test_a_regrade_draws_what_the_file_would_be_given(course, classroom, hand_in):
    """What a hidden test draws can be told from its message: out of the gradebook it is as from the file."""
    key = classroom / "exercises" / "double" / "key"
    (key / "test_hidden.py").write_text(
        TESTS.replace(
            'raise Mistake("`double` does not double")', 'raise Mistake(f"{float(x[0, 0])!r} is not doubled")'
        )
    )
    hand_in("ada", "tripled", DUE - HOUR)
    file = classroom / "submissions" / "ada" / "double.ipynb"
    direct = grade_submission(file, learner="ada", exercise=load_exercise(key), sandbox="none")
    grade(course, classroom, "-j", 1)
    hand_in("ada", "nothing", DUE)
    grade(course, classroom, "-j", 1, "--regrade")
    [first, _] = [each.report for each in recorded(classroom) if each.report.learner == "ada"]
    assert re.match(r"-?\d\.\d+ is not doubled", direct.messages[0])
    assert first.messages == direct.messages


def test_attempts_from_before_notebooks_were_kept_are_named(course, classroom, hand_in):
    """An old gradebook is taken along: what cannot be graded again keeps its marks, and a note says whose."""
    hand_in("ada", "right", DUE - HOUR)
    grade(course, classroom, "-j", 1)
    with Gradebook(str(classroom / "grades" / "gradebook.sqlite")) as book, book._engine.begin() as connection:
        newer = ("TABLE notebooks", "TABLE standings", "INDEX attempts_by_key", "INDEX attempts_by_time")
        for each in (*newer, "TABLE alembic_version"):
            connection.exec_driver_sql(f"DROP {each}")
        connection.exec_driver_sql("ALTER TABLE results DROP COLUMN seconds")
        connection.exec_driver_sql("UPDATE gradebook SET version = 1")
    (classroom / "exercises" / "double" / "key" / "test_hidden.py").write_text(BROKEN)
    hand_in("ada", "nothing", DUE)
    points, _, err = grade(course, classroom, "-j", 1, "--regrade")
    assert points == {"ada": 3, "bob": 0}
    assert "earlier attempts at double of ada keep their marks" in err
