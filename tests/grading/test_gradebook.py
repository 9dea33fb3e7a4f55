"""The gradebook keeps what it is given, once, in SQLite and in a real PostgreSQL alike."""

import re
import sqlite3
import zlib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import update

from course_grader.grading.exercises.hashes import hash_notebook
from course_grader.grading.grade_one.report import Row, SubmissionReport
from course_grader.grading.gradebook import Attempt, Gradebook, ManualPoints
from course_grader.grading.gradebook.database import database_url
from course_grader.grading.gradebook.sql_tables import NotebookRow
from course_lib.errors import InputError

NOON = datetime(2026, 10, 5, 12, tzinfo=UTC)
ROWS = (
    Row("check_double", "check", "failed", message="twice one is two"),
    Row("test_double", "test", "passed", 2.0, 2.0, "Doubling works."),
    Row("test_halve", "test", "failed", 0.0, 0.5, "Halving works.", "`halve` does not halve", "assert 41.5"),
)


def attempt(learner="ada", *, points=2.0, notebook="a" * 64, at=NOON, **changes):
    """Return one attempt."""
    report = SubmissionReport(learner, "double", "graded", points, 2.5, ("`halve` does not halve",), ROWS, "bubblewrap")
    return replace(Attempt(report, notebook, "k" * 64, at, at, at + timedelta(hours=1)), **changes)


@pytest.fixture(params=["sqlite", "postgresql"])
def address(request, tmp_path):
    """An empty database of each kind."""
    if request.param == "sqlite":
        return str(tmp_path / "gradebook.sqlite")
    return request.getfixturevalue("new_database")()


def test_what_is_recorded_is_read_back(address):
    """Every field and row, in this process and after opening it again; nothing of other exercises."""
    with Gradebook(address) as book:
        book.record(attempt())
        book.record(attempt("bob", at=NOON - timedelta(days=1)))
        assert book.attempts(exercise="double", learner="ada") == [attempt()]
    with Gradebook(address, create=False) as book:
        assert [each.report.learner for each in book.attempts(exercise="double")] == ["bob", "ada"]
        assert book.attempts(exercise="triple") == []
        assert book.learners() == ["ada", "bob"]


def test_the_same_notebook_is_one_attempt(address):
    """Recorded again it replaces its grade; it keeps when it came first, and learns when it came last."""
    later = attempt(points=1.0, at=NOON + timedelta(days=1), key_hash="other")
    later = replace(later, report=replace(later.report, rows=ROWS[:1]))
    with Gradebook(address) as book:
        for each in (attempt(), later, later):
            book.record(each)
        [found] = book.attempts(exercise="double")
        assert found == replace(later, submitted_at=NOON)
        book.record_resubmission(found, submitted_at=NOON - timedelta(hours=1))
        book.record_resubmission(found, submitted_at=NOON + timedelta(days=9))
        [found] = book.attempts(exercise="double")
    assert (found.submitted_at, found.last_submitted_at) == (NOON - timedelta(hours=1), NOON + timedelta(days=9))
    assert found.report.rows == ROWS[:1]


def test_a_time_that_was_told_comes_before_all_others(address):
    """It takes the place of what is there, earlier or later; the next one told takes its; nothing else does."""
    with Gradebook(address) as book:
        book.record(attempt())
        for told in (NOON + timedelta(days=2), NOON - timedelta(days=2), NOON + timedelta(days=1)):
            book.set_submission_times({("ada", "double", "a" * 64): told, ("bob", "double", "b" * 64): NOON})
            book.record(attempt())
            book.record_resubmission(attempt(), submitted_at=NOON - timedelta(days=9))
            [found] = book.attempts(exercise="double")
            assert (found.submitted_at, found.last_submitted_at) == (told, told)


def test_a_notebook_is_kept_once_and_comes_back_as_it_was(address):
    """The same bytes of two learners are one copy, compressed; an attempt without one says so."""
    raw = b'{"cells": []}' * 10_000
    mine = hash_notebook(raw)
    with Gradebook(address) as book:
        for learner in ("ada", "bob"):
            book.record(attempt(learner, notebook=mine), raw)
        book.record(attempt("cem"))
        assert book.notebook(mine) == raw
        assert book.notebook("a" * 64) is None
        headers = book.attempt_headers(exercise="double")
        assert [(each.learner, each.notebook_kept) for each in headers] == [
            ("ada", True),
            ("bob", True),
            ("cem", False),
        ]
        with book._engine.begin() as connection:
            [(size,)] = connection.exec_driver_sql("SELECT length(content) FROM notebooks").all()
        assert size < len(raw) / 100
        book.record_resubmission(attempt("cem"), submitted_at=NOON, notebook=b"found again")
        assert book.notebook(hash_notebook(b"found again")) == b"found again"


@pytest.mark.parametrize("damage", [b"no longer compressed", zlib.compress(b"another notebook")])
def test_a_damaged_notebook_is_none(address, damage):
    """What is read back has the hash that it was kept under, or is not used."""
    with Gradebook(address) as book:
        book.record(attempt(notebook=hash_notebook(b"mine")), b"mine")
        with book._engine.begin() as connection:
            connection.execute(update(NotebookRow).values(content=damage))
        assert book.notebook(hash_notebook(b"mine")) is None


def test_another_notebook_is_another_attempt(address):
    """Both are kept, in the order they came."""
    with Gradebook(address) as book:
        book.record(attempt(notebook="b" * 64, at=NOON + timedelta(hours=1)))
        book.record(attempt())
        assert [each.notebook_hash[0] for each in book.attempts(exercise="double")] == ["a", "b"]


def test_graders_at_the_same_time_record_once(address):
    """Several write the same and different attempts together: each is there once, and none is lost."""
    with Gradebook(address):
        pass

    def write(number):
        with Gradebook(address) as book:
            book.record(attempt("both", points=number), b"the same notebook")
            book.record(attempt(f"learner{number}"), b"the same notebook")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(8)))
    with Gradebook(address) as book:
        found = [each.report.learner for each in book.attempts(exercise="double")]
    assert sorted(found) == ["both", *(f"learner{number}" for number in range(8))]


def test_text_that_no_database_takes_is_escaped(address):
    """Half a character and a zero byte are written so that one sees what they were."""
    odd = Row("t", "test", "failed", detail="\ud800 and \0")
    with Gradebook(address) as book:
        book.record(replace(attempt(), report=replace(attempt().report, rows=(odd,))))
        [found] = book.attempts(exercise="double")
    assert found.report.rows[0].detail == r"\ud800 and \x00"


def test_points_by_hand_add_up_and_outlast_a_regrade(address):
    """They are kept beside the attempts, in order, with their reasons."""
    given = [ManualPoints("ada", "double", points, why, NOON) for points, why in ((1.5, "oral"), (-0.5, "late talk"))]
    with Gradebook(address) as book:
        book.record(attempt())
        assert [book.add_points(each) for each in given] == [1.5, 1.0]
        book.record(attempt(points=0.0))
        book.add_points(ManualPoints("bob", "double", 1.0, "oral", NOON))
        assert [each for each in book.manual_points(exercise="double") if each.learner == "ada"] == given
        assert book.attempts(exercise="double", learner="ada")[0].report.points == 0


def test_a_transaction_cut_short_leaves_the_old_grade(address, monkeypatch):
    """If replacing an attempt fails half-way, its old grade and rows are still there."""
    with Gradebook(address) as book:
        book.record(attempt())
        broken = replace(attempt(), report=replace(attempt().report, rows=(Row("t", "test", None),)))  # no status
        with pytest.raises(Exception, match=r"(?i)null"):
            book.record(broken, b"its notebook")
        assert book.attempts(exercise="double") == [attempt()]
        assert book.notebook(hash_notebook(b"its notebook")) is None


def other_file(path):
    path.write_text("my thesis " * 100)
    return "file is not a database"


def other_tables(path):
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE stamps (id)")
    connection.close()
    return "tables of something else (stamps)"


def newer_version(path):
    with Gradebook(str(path)):
        pass
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE gradebook SET version = 9")
    connection.close()
    return r"expected version \d+ of the gradebook at .* or an older one, found 9, of a newer grader; use that grader"


def newer_revision(path):
    with Gradebook(str(path)):
        pass
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '1000'")
    connection.close()
    return r"expected version \d+ of the gradebook at .* or an older one, found 1000, of a newer grader"


def a_folder(path):
    path.mkdir()
    return "expected a file for the gradebook, found a folder"


@pytest.mark.parametrize("make", [other_file, other_tables, newer_version, newer_revision, a_folder])
def test_what_is_no_gradebook_is_refused_and_left_alone(tmp_path, make):
    """A file, a database, a folder of something else: one sentence, and not a byte changed."""
    came = make(path := tmp_path / "it")
    before = path.read_bytes() if path.is_file() else None
    with pytest.raises(InputError, match=came.replace("(", r"\(").replace(")", r"\)")):
        Gradebook(str(path))
    assert before == (path.read_bytes() if path.is_file() else None)


@pytest.mark.parametrize(
    ("given", "came"),
    [
        ("mysql://ada:secret@host/course", "found mysql://..."),
        ("postgresql+asyncpg:///x y://", None),
        ("sqlite://", "found sqlite://..."),
        ("://", "expected a file or postgresql"),
        ("postgresql://ada:secret@127.0.0.1:notaport/course", "found postgresql://..."),
        ("sqlite:///{tmp}/x.db?timeout=secs", "x.db?timeout=secs, found: could not convert"),
        ("sqlite:///{tmp}/x.db?timeout=1&timeout=2", "found: float() argument must be"),
        ("sqlite:///{tmp}/x.db?cached_statements=x", "found: invalid literal for int()"),
        ("sqlite:///{tmp}/x.db?plugin=none", "found: Can't load plugin"),
        ("sqlite+pysqlcipher://:secret@/{tmp}/x.db", "found: Invalid SQLite URL"),
        ("postgresql:///course?host={tmp}&password=secret&sslpassword=secret", "expected a gradebook at postgresql"),
        ("{tmp}/missing/gradebook.sqlite", "expected a folder for the gradebook"),
    ],
)
def test_an_address_that_is_none_is_named(tmp_path, given, came):
    """It says what an address looks like, and never shows a password."""
    if came is None:
        assert database_url(given).drivername == "postgresql+psycopg"
        return
    with pytest.raises(InputError, match=re.escape(came)) as caught:
        Gradebook(given.format(tmp=tmp_path))
    assert "secret" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_gradebook_is_not_made_by_looking(tmp_path):
    """With ``create=False`` a missing file stays missing, and an empty one is no gradebook."""
    with pytest.raises(InputError, match="found none; grade first"):
        Gradebook(str(tmp_path / "none.sqlite"), create=False)
    (tmp_path / "empty.sqlite").touch()
    with pytest.raises(InputError, match="found an empty database"):
        Gradebook(str(tmp_path / "empty.sqlite"), create=False)
    assert not (tmp_path / "none.sqlite").exists()


def test_a_server_that_does_not_answer_is_one_sentence(tmp_path):
    """No traceback, no password, and what the server's library said."""
    pytest.importorskip("psycopg")
    with pytest.raises(InputError, match=r"expected a gradebook at postgresql.*found: .*; name another") as caught:
        Gradebook(f"postgresql://ada:secret@/course?host={tmp_path}")
    assert "secret" not in str(caught.value)
    assert "\n" not in str(caught.value)
