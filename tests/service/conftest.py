"""A course with two tiny exercises, and the processes that serve it."""

import nbformat
import pytest

from course_grader.grading.exercises.exercise import load_exercise
from course_grader.grading.grade_class.roster import RosterEntry
from course_grader.service.course import Course
from tests.grading.conftest import SOURCE, TESTS
from tests.service import processes

# The process that grades is forked by one that the worker has started.
POISON = '''
import os
from pathlib import Path

from course_grader import points


@points(1)
def test_poison(learner):
    """Grading this one kills the worker."""
    forkserver = os.getppid()
    worker = int(Path(f"/proc/{forkserver}/stat").read_text().rpartition(")")[2].split()[1])
    os.kill(worker, 9)
'''


def lay_out(folder, slug, tests):
    """Write an exercise's key."""
    key = folder / slug / "key"
    key.mkdir(parents=True)
    (key / "source.md").write_text(SOURCE.replace("exercise: double", f"exercise: {slug}"), encoding="utf-8")
    (key / "test_hidden.py").write_text(tests, encoding="utf-8")


@pytest.fixture
def exercises(tmp_path):
    """A folder with the exercise ``double``, which a test may change."""
    lay_out(tmp_path / "exercises", "double", TESTS)
    return tmp_path / "exercises"


@pytest.fixture
def notebook(exercises):
    """Return a function that returns the reference's bytes with some answers replaced, all different."""

    def make(number: int = 0, **answers: str) -> bytes:
        made = load_exercise(exercises / "double" / "key").reference()
        for cell in made.cells:
            cell.source = answers.get(cell.id, cell.source)
        return nbformat.writes(made).encode() + b"\n" * number

    return make


@pytest.fixture
def address(new_database):
    """The address of an empty database."""
    return new_database()


@pytest.fixture
def course(address):
    """A course with two learners, in an empty database."""
    course = Course(address)
    course.people.add([RosterEntry("ada"), RosterEntry("bob")])
    yield course
    course.close()


@pytest.fixture
def work(address, exercises):
    """Return a function that starts a worker, and waits until it works; all are killed at the end."""
    started = []

    def start(*words: str) -> processes.Process:
        command = ["work", "--database", address, "--exercises", str(exercises), *(words or ("--jobs", "1"))]
        started.append(processes.start(*command, quick=True))
        started[-1].await_line("grading")
        return started[-1]

    yield start
    for each in started:
        each.process.kill()
        each.process.wait()
