"""A gradebook of an older grader is taken along, in one transaction, in SQLite and in a real PostgreSQL alike."""

import contextlib
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory

from course_grader.grading.gradebook import Gradebook, ManualPoints, sql_tables
from course_grader.grading.gradebook.sql_tables import REVISION, Tables
from course_lib.errors import InputError
from tests.grading.test_gradebook import NOON, attempt

OLD = Path(__file__).parent / "old_gradebooks"  # written by the grader of that version, and dumped


def fill_sqlite(path):
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.executescript((OLD / "version_1.sqlite.sql").read_text())


@pytest.fixture(params=["sqlite", "postgresql"])
def old(request, tmp_path):
    """The address of a gradebook of version 1: two attempts, a time that was told, points by hand."""
    if request.param == "sqlite":
        fill_sqlite(tmp_path / "gradebook.sqlite")
        return str(tmp_path / "gradebook.sqlite")
    import psycopg

    address = request.getfixturevalue("new_database")()
    with psycopg.connect(address) as connection:
        connection.execute((OLD / "version_1.postgresql.sql").read_text())
    return address


def assert_all_is_there(book):
    """Attempts, times and points are what the older grader wrote; no notebook is kept."""
    bob = attempt("bob", at=NOON - timedelta(days=1))
    assert book.attempts(exercise="double") == [attempt(), replace(bob, submitted_at=NOON, last_submitted_at=NOON)]
    assert book.manual_points(exercise="double") == [ManualPoints("ada", "double", 1.5, "oral", NOON)]
    assert not any(header.notebook_kept for header in book.attempt_headers(exercise="double"))


def test_an_old_gradebook_is_gone_on_with(old):
    """Also when it is opened to look something up; what is recorded then is kept with its notebook."""
    with Gradebook(old, create=False) as book:
        assert_all_is_there(book)
    with Gradebook(old) as book:
        book.record(attempt("cem", notebook="c" * 64), b"mine")
        assert [each.report.learner for each in book.attempts(exercise="double")] == ["ada", "bob", "cem"]


def test_its_tables_are_then_those_of_a_new_one(old):
    """As Alembic compares them; and the last step is the revision that new ones are given."""
    with Gradebook(old) as book, book._engine.begin() as connection:
        assert compare_metadata(MigrationContext.configure(connection), Tables.metadata) == []
    steps = Path(sql_tables.__file__).parent / "migrations"
    assert ScriptDirectory(steps, version_locations=[steps]).get_current_head() == REVISION


def test_graders_that_open_it_at_once_migrate_it_once(old):
    """One does, the others wait for it; none fails."""

    def write(number):
        with Gradebook(old) as book:
            book.record(attempt(f"learner{number}"), b"the same notebook")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(8)))
    with Gradebook(old) as book:
        assert len(book.attempts(exercise="double")) == 10


def test_a_migration_that_fails_leaves_it_as_it_was(tmp_path):
    """A table of the new name is in the way: one sentence, and not a byte is changed, though a step was half done."""
    fill_sqlite(path := tmp_path / "gradebook.sqlite")
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.executescript("DROP TABLE told_times; CREATE TABLE notebooks (mine)")
    before = path.read_bytes()
    with pytest.raises(InputError, match=r"expected a gradebook at .*found: table notebooks already exists; name"):
        Gradebook(str(path))
    assert path.read_bytes() == before


def test_a_gradebook_from_before_times_were_told_is_gone_on_with(tmp_path):
    """What the oldest ones lack is made when they are opened, also to look something up."""
    fill_sqlite(path := tmp_path / "gradebook.sqlite")
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("DROP TABLE told_times")
    with Gradebook(str(path), create=False) as book:
        assert [each.report.learner for each in book.attempts(exercise="double")] == ["bob", "ada"]
        book.set_submission_times({("ada", "double", "a" * 64): NOON})
