"""A gradebook that fails while it is in use says so in one sentence, and keeps what it had."""

import contextlib
import sqlite3
from datetime import UTC, datetime

import pytest

from course_grader.grading.grade_one.report import SubmissionReport
from course_grader.grading.gradebook import Attempt, Gradebook, ManualPoints, database
from course_lib.errors import InputError

NOON = datetime(2026, 10, 5, 12, tzinfo=UTC)
WRONG = "the gradebook could not be read or written: {}; run the same command again"


def attempt(learner="ada", *, message=""):
    """Return one attempt."""
    report = SubmissionReport(learner, "double", "graded", 2, 3, (message,))
    return Attempt(report, "a" * 64, "k" * 64, NOON, NOON, graded_at=NOON)


USES = {
    "record": lambda book: book.record(attempt("bob")),
    "record_resubmission": lambda book: book.record_resubmission(attempt(), submitted_at=NOON),
    "attempts": lambda book: book.attempts(exercise="double"),
    "learners": lambda book: book.learners(),
    "add_points": lambda book: book.add_points(ManualPoints("ada", "double", 1, "oral", NOON)),
    "manual_points": lambda book: book.manual_points(exercise="double"),
}


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_a_locked_gradebook_is_one_sentence(tmp_path, monkeypatch, use):
    """Whatever is asked of it while another process holds it for longer than one waits; afterwards it works again."""
    monkeypatch.setattr(database, "WAIT_SECONDS", 0.1)
    path = tmp_path / "gradebook.sqlite"
    with Gradebook(str(path)) as book:
        book.record(attempt())
        with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN EXCLUSIVE")
            with pytest.raises(InputError) as caught:
                use(book)
        assert str(caught.value) == WRONG.format("database is locked")
        assert attempt() in book.attempts(exercise="double")
        use(book)


def test_a_full_disk_is_one_sentence_and_costs_nothing(tmp_path):
    """What does not fit is not written, what was there stays, and nothing of an attempt is told."""
    with Gradebook(str(tmp_path / "gradebook.sqlite")) as book:
        book.record(attempt())
        fill = book._engine.raw_connection()  # the pool's only one, so that it is the next that is used
        fill.execute("PRAGMA max_page_count = 1")  # SQLite takes the pages there are, and not one more
        fill.close()
        with pytest.raises(InputError) as caught:
            book.record(attempt("bob", message="secret" * 10_000))
        assert str(caught.value) == WRONG.format("database or disk is full")
        assert book.attempts(exercise="double") == [attempt()]


def test_what_a_database_refuses_twice_is_one_sentence(tmp_path):
    """An attempt that breaks a rule is tried again, since another grader may have been first; then that is said."""
    path = tmp_path / "gradebook.sqlite"
    with Gradebook(str(path)) as book, contextlib.closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TRIGGER no BEFORE INSERT ON attempts BEGIN SELECT RAISE(ABORT, 'not today'); END")
        with pytest.raises(InputError) as caught:
            book.record(attempt())
        assert str(caught.value) == WRONG.format("not today")
