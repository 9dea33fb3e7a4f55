"""A gradebook that fails while it is in use says so in one sentence, and keeps what it had."""

import contextlib
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import psycopg
import pytest
from sqlalchemy import event

from course_grader.grading.grade_one.report import SubmissionReport
from course_grader.grading.gradebook import Attempt, Gradebook, ManualPoints, database
from course_lib.errors import InputError

NOON = datetime(2026, 10, 5, 12, tzinfo=UTC)
WRONG = "the gradebook at {} could not be read or written: {}; run the same command again"


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
        assert str(caught.value) == WRONG.format(tmp_path / "gradebook.sqlite", "database is locked")
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
        assert str(caught.value) == WRONG.format(tmp_path / "gradebook.sqlite", "database or disk is full")
        assert book.attempts(exercise="double") == [attempt()]


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_a_restart_of_postgresql_is_survived(postgresql, new_database, use):
    """Between two uses, when the old connection is dead, and during one, which waits until the server is back."""
    with Gradebook(new_database()) as book:
        book.record(attempt())
        postgresql.stop()
        postgresql.start()
        use(book)
        postgresql.stop()
        with ThreadPoolExecutor(1) as other:
            started = other.submit(postgresql.start)
            use(book)
            started.result()
        assert attempt() in book.attempts(exercise="double")


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_a_connection_that_is_cut_in_the_midst_costs_nothing(new_database, use):
    """Whichever statement of a transaction it is that finds it gone: all is done once, and nothing twice."""
    with Gradebook(address := new_database()) as book, Gradebook(address) as calm:
        book.record(attempt())
        use(calm)
        cut, number = True, 0
        while cut:
            cut, number = False, number + 1
            left = number

            def end(connection, *_):
                nonlocal left, cut
                left -= 1
                if left == 0:
                    cut = True
                    backend = connection.connection.driver_connection.info.backend_pid
                    with psycopg.connect(address) as killer:
                        killer.execute("SELECT pg_terminate_backend(%s, 10000)", [backend])

            event.listen(book._engine, "before_cursor_execute", end)
            use(book)
            event.remove(book._engine, "before_cursor_execute", end)
        assert number > 1
        assert len(calm.attempts(exercise="double", learner="ada")) == 1
        assert calm.manual_points(exercise="double") in ([], [ManualPoints("ada", "double", 1, "oral", NOON)])


def test_a_server_that_does_not_come_back_is_one_sentence(postgresql, new_database, monkeypatch):
    """With its address, and without a password that is in it."""
    monkeypatch.setattr(database, "PAUSES_SECONDS", [0.01])
    with Gradebook(new_database().replace("course@", "course:secret@")) as book:
        postgresql.stop()
        try:
            with pytest.raises(
                InputError, match=r"the gradebook at postgresql.* could not be read or written"
            ) as caught:
                book.learners()
        finally:
            postgresql.start()
    assert "secret" not in str(caught.value)


def test_what_a_database_refuses_twice_is_one_sentence(tmp_path):
    """An attempt that breaks a rule is tried again, since another grader may have been first; then that is said."""
    path = tmp_path / "gradebook.sqlite"
    with Gradebook(str(path)) as book, contextlib.closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TRIGGER no BEFORE INSERT ON attempts BEGIN SELECT RAISE(ABORT, 'not today'); END")
        with pytest.raises(InputError) as caught:
            book.record(attempt())
        assert str(caught.value) == WRONG.format(tmp_path / "gradebook.sqlite", "not today")
